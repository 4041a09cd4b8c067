#include <algorithm>
#include <map>
#include <numeric>

#include "src/plan/passes.hpp"
#include "zero/base/align.hpp"

namespace zero::plan {
namespace {

/// From the first op that touches a buffer to the position behind which its bytes may be reused.
struct Lifetime {
  int32_t buffer;
  int32_t birth;
  int32_t death;
};

std::vector<Lifetime> find_lifetimes(const Plan& plan, const Body& body) {
  std::vector<Lifetime> lifetimes;
  std::map<int32_t, size_t> place;
  for (size_t i = 0; i < body.ops.size(); ++i) {
    for (const Operand& operand : body.ops[i].operands) {
      if (operand.buffer < 0 || plan.buffers[size_t(operand.buffer)].persistent) continue;
      const auto [at, fresh] = place.try_emplace(operand.buffer, lifetimes.size());
      if (fresh) {
        lifetimes.push_back({.buffer = operand.buffer, .birth = int32_t(i), .death = int32_t(i)});
      }
      Lifetime& lifetime = lifetimes[at->second];
      lifetime.death = std::max(lifetime.death, body.ops[i].done_by);
    }
  }
  return lifetimes;
}

struct Range {
  int64_t begin;
  int64_t end;
};

/// The tightest gap between `taken` ranges that holds `bytes`, or the end of the last.
int64_t best_gap(std::vector<Range>& taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t top = 0, best = -1, best_slack = 0;
  for (const Range& range : taken) {
    const int64_t slack = range.begin - top - bytes;
    if (slack >= 0 && (best < 0 || slack < best_slack)) {
      best = top;
      best_slack = slack;
    }
    top = std::max(top, range.end);
  }
  return best >= 0 ? best : top;
}

/// Offline best fit, largest first. Returns the bytes used.
int64_t pack_transients(Plan& plan, std::vector<Lifetime> lifetimes) {
  std::stable_sort(lifetimes.begin(), lifetimes.end(), [&](const Lifetime& a, const Lifetime& b) {
    return plan.buffers[size_t(a.buffer)].bytes > plan.buffers[size_t(b.buffer)].bytes;
  });
  int64_t top = 0;
  std::vector<Range> taken;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    taken.clear();
    for (size_t j = 0; j < i; ++j) {
      if (lifetimes[j].death < lifetimes[i].birth || lifetimes[i].death < lifetimes[j].birth)
        continue;
      const Buffer& other = plan.buffers[size_t(lifetimes[j].buffer)];
      taken.push_back({other.offset, other.offset + round_up(other.bytes, kExtentAlignBytes)});
    }
    Buffer& buffer = plan.buffers[size_t(lifetimes[i].buffer)];
    buffer.offset = best_gap(taken, round_up(buffer.bytes, kExtentAlignBytes));
    top = std::max(top, buffer.offset + round_up(buffer.bytes, kExtentAlignBytes));
  }
  return top;
}

}  // namespace

void pack(Plan& plan) {
  int64_t& top = plan.arena_bytes[size_t(Tier::device)];
  top = 0;
  for (Buffer& buffer : plan.buffers) {
    if (!buffer.persistent) continue;
    buffer.offset = top;
    top += round_up(buffer.bytes, kExtentAlignBytes);
  }
  const int64_t persistent = top;
  for (const Body& body : plan.bodies) {
    const std::vector<Lifetime> lifetimes = find_lifetimes(plan, body);
    top = std::max(top, persistent + pack_transients(plan, lifetimes));
    for (const Lifetime& lifetime : lifetimes) {
      plan.buffers[size_t(lifetime.buffer)].offset += persistent;
    }
  }
}

}  // namespace zero::plan
