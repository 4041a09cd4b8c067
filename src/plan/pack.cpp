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

/// Where something goes between `taken` ranges; `best` is -1 if it fits into no gap.
struct Place {
  int64_t best, top;
};

/// The tightest gap that holds `bytes`, and the end of the last range.
Place best_gap(std::vector<Range>& taken, int64_t bytes) {
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
  return {best, top};
}

/// Not over the borders of copies if it fits between them: then what is on its way lies on one
/// copy, and that copy waits for no other when it is filled anew. Else the tightest gap, or the
/// end.
int64_t place_among(std::vector<Range>& taken, const std::vector<Range>& borders, int64_t bytes) {
  if (!borders.empty()) {
    std::vector<Range> cut = taken;
    cut.insert(cut.end(), borders.begin(), borders.end());
    if (const Place in_copy = best_gap(cut, bytes); in_copy.best >= 0) return in_copy.best;
  }
  const Place place = best_gap(taken, bytes);
  return place.best >= 0 ? place.best : place.top;
}

/// Offline best fit behind `base`, largest first; copies lie there already. Returns the bytes used.
int64_t pack_transients(Plan& plan, std::vector<Lifetime> lifetimes, int64_t base,
                        size_t positions) {
  std::stable_sort(lifetimes.begin(), lifetimes.end(), [&](const Lifetime& a, const Lifetime& b) {
    const Buffer &first = plan.buffers[size_t(a.buffer)], &second = plan.buffers[size_t(b.buffer)];
    if (first.persistent != second.persistent) return first.persistent;
    return first.bytes > second.bytes;
  });
  int64_t top = 0;
  Placed placed(positions);
  std::vector<Range> taken, borders;
  for (const Lifetime& lifetime : lifetimes) {
    Buffer& buffer = plan.buffers[size_t(lifetime.buffer)];
    const int64_t bytes = placed_bytes(buffer);
    int64_t begin = buffer.offset - base;
    if (buffer.persistent) {
      borders.push_back({begin, begin});
      borders.push_back({begin + bytes, begin + bytes});
    } else {
      placed.meeting(lifetime, taken);
      begin = place_among(taken, borders, bytes);
      buffer.offset = base + begin;
    }
    placed.add(lifetime, {begin, begin + bytes});
    top = std::max(top, begin + bytes);
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

/// Persistent buffers in their order, copies or the others; returns the end of the last.
int64_t pack_persistent(Plan& plan, Tier tier, bool copies, int64_t top) {
  for (Buffer& buffer : plan.buffers) {
    const bool copy = buffer.copy_of >= 0;
    if (!buffer.persistent || buffer.tier != tier || copy != copies) continue;
    buffer.offset = top;
    top += placed_bytes(buffer);
  }
  return top;
}

/// One arena. Persistent buffers first; the last of them are copies, on and behind which bodies
/// place what is transient.
void pack_tier(Plan& plan, Tier tier) {
  const int64_t base = pack_persistent(plan, tier, false, 0);
  int64_t& top = plan.arena_bytes[size_t(tier)];
  top = pack_persistent(plan, tier, true, base);
  for (const Body& body : plan.bodies) {
    std::vector<Lifetime> lifetimes = lifetimes_in(plan, body, tier);
    top = std::max(top, base + pack_transients(plan, std::move(lifetimes), base, body.ops.size()));
  }
}

}  // namespace

void pack(Plan& plan) {
  for (Tier tier : {Tier::device, Tier::host, Tier::nvme}) pack_tier(plan, tier);
}

}  // namespace zero::plan
