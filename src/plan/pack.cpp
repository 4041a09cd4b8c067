#include <algorithm>

#include "src/plan/extents.hpp"
#include "src/plan/lifetimes.hpp"
#include "src/plan/passes.hpp"

namespace zero::plan {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

/// What has been placed so far, found by time: a step of many micro-batches has many buffers, few
/// of which live at the same time.
class Placed {
 public:
  explicit Placed(size_t positions) : windows_(positions / kWindow + 1) {}

  void add(const Lifetime& lifetime, const Range& range) {
    entries_.push_back({lifetime, range, -1});
    for (int32_t w = lifetime.birth / kWindow; w <= lifetime.death / kWindow; ++w) {
      windows_[size_t(w)].push_back(int32_t(entries_.size()) - 1);
    }
  }

  /// Ranges whose lifetimes meet this one, each once.
  void meeting(const Lifetime& lifetime, std::vector<Range>& taken) {
    taken.clear();
    for (int32_t w = lifetime.birth / kWindow; w <= lifetime.death / kWindow; ++w) {
      for (int32_t index : windows_[size_t(w)]) {
        Entry& entry = entries_[size_t(index)];
        const bool meets =
            entry.lifetime.birth <= lifetime.death && lifetime.birth <= entry.lifetime.death;
        if (!meets || entry.asked_by == lifetime.buffer) continue;
        entry.asked_by = lifetime.buffer;
        taken.push_back(entry.range);
      }
    }
  }

 private:
  static constexpr int32_t kWindow = 64;  ///< ops

  struct Entry {
    Lifetime lifetime;
    Range range;
    int32_t asked_by;  ///< the last buffer that was told of this one
  };
  std::vector<Entry> entries_;
  std::vector<std::vector<int32_t>> windows_;
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
int64_t pack_transients(Plan& plan, std::vector<Lifetime> lifetimes, size_t positions) {
  std::stable_sort(lifetimes.begin(), lifetimes.end(), [&](const Lifetime& a, const Lifetime& b) {
    return plan.buffers[size_t(a.buffer)].bytes > plan.buffers[size_t(b.buffer)].bytes;
  });
  int64_t top = 0;
  Placed placed(positions);
  std::vector<Range> taken;
  for (const Lifetime& lifetime : lifetimes) {
    Buffer& buffer = plan.buffers[size_t(lifetime.buffer)];
    const int64_t bytes = placed_bytes(buffer);
    placed.meeting(lifetime, taken);
    buffer.offset = best_gap(taken, bytes);
    placed.add(lifetime, {buffer.offset, buffer.offset + bytes});
    top = std::max(top, buffer.offset + bytes);
  }
  return top;
}

std::vector<Lifetime> lifetimes_in(const Plan& plan, const Body& body, Tier tier) {
  std::vector<Lifetime> lifetimes = find_lifetimes(plan, body);
  std::erase_if(lifetimes, [&](const Lifetime& lifetime) {
    return plan.buffers[size_t(lifetime.buffer)].tier != tier;
  });
  return lifetimes;
}

/// One arena. Persistent buffers first, in their order.
void pack_tier(Plan& plan, Tier tier) {
  int64_t& top = plan.arena_bytes[size_t(tier)];
  top = 0;
  for (Buffer& buffer : plan.buffers) {
    if (!buffer.persistent || buffer.tier != tier) continue;
    buffer.offset = top;
    top += placed_bytes(buffer);
  }
  const int64_t persistent = top;
  for (const Body& body : plan.bodies) {
    const std::vector<Lifetime> lifetimes = lifetimes_in(plan, body, tier);
    top = std::max(top, persistent + pack_transients(plan, lifetimes, body.ops.size()));
    for (const Lifetime& lifetime : lifetimes) {
      plan.buffers[size_t(lifetime.buffer)].offset += persistent;
    }
  }
}

}  // namespace

void pack(Plan& plan) {
  for (Tier tier : {Tier::device, Tier::host, Tier::nvme}) pack_tier(plan, tier);
}

}  // namespace zero::plan
