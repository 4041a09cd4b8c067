#include <algorithm>
#include <iterator>

#include "src/plan/extents.hpp"
#include "src/plan/lifetimes.hpp"
#include "src/plan/passes.hpp"

namespace zero::plan {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

bool begins_before(const Range& a, const Range& b) { return a.begin < b.begin; }

/// What has been placed so far and when it lives.
struct Entry {
  Lifetime life;
  Range range;
  bool meets(const Lifetime& other) const {
    return life.birth <= other.death && other.birth <= life.death;
  }
};

/// By time: a step of many micro-batches has many buffers, few of which live at the same time.
class ByTime {
 public:
  explicit ByTime(size_t positions) : windows_(positions / kWindow + 1) {}

  void add(const Entry& entry) {
    for (int32_t w = first(entry.life); w <= last(entry.life); ++w) {
      windows_[size_t(w)].push_back(entry);
    }
  }
  /// How many have to be looked at for those that meet a lifetime.
  size_t candidates(const Lifetime& life) const {
    size_t count = 0;
    for (int32_t w = first(life); w <= last(life); ++w) count += windows_[size_t(w)].size();
    return count;
  }
  void add_meeting(const Lifetime& life, std::vector<Range>& taken) const {
    for (int32_t w = first(life); w <= last(life); ++w) {
      for (const Entry& entry : windows_[size_t(w)]) {
        if (entry.meets(life)) taken.push_back(entry.range);
      }
    }
  }

 private:
  static constexpr int32_t kWindow = 64;  ///< ops
  static int32_t first(const Lifetime& life) { return life.birth / kWindow; }
  static int32_t last(const Lifetime& life) { return life.death / kWindow; }
  std::vector<std::vector<Entry>> windows_;
};

/// By offset: what lives through much of a long step meets most others, and here they are in the
/// order in which they lie. In blocks, so that one more is soon put in between.
class ByOffset {
 public:
  void add(const Entry& entry) {
    if (blocks_.empty()) blocks_.emplace_back();
    auto block = std::upper_bound(blocks_.begin() + 1, blocks_.end(), entry.range,
                                  [](const Range& range, const Block& other) {
                                    return begins_before(range, other[0].range);
                                  });
    --block;
    block->insert(std::upper_bound(block->begin(), block->end(), entry,
                                   [](const Entry& x, const Entry& y) {
                                     return begins_before(x.range, y.range);
                                   }),
                  entry);
    ++size_;
    if (block->size() < kMostEntries) return;
    Block upper(block->begin() + kMostEntries / 2, block->end());
    block->resize(kMostEntries / 2);
    blocks_.insert(block + 1, std::move(upper));
  }
  size_t size() const { return size_; }
  void add_meeting(const std::vector<Lifetime>& lives, std::vector<Range>& taken) const {
    for (const Block& block : blocks_) {
      for (const Entry& entry : block) {
        for (const Lifetime& life : lives) {
          if (!entry.meets(life)) continue;
          taken.push_back(entry.range);
          break;
        }
      }
    }
  }

 private:
  static constexpr size_t kMostEntries = 512;
  using Block = std::vector<Entry>;
  std::vector<Block> blocks_;  ///< none empty but the first
  size_t size_ = 0;
};

/// Both, of which the sooner one is asked.
class Placed {
 public:
  explicit Placed(size_t positions) : by_time_(positions) {}

  void add(const Lifetime& life, const Range& range) {
    by_time_.add({life, range});
    by_offset_.add({life, range});
  }

  /// Ranges whose lifetimes meet one of these, in the order in which they begin.
  void meeting(const std::vector<Lifetime>& lives, std::vector<Range>& taken) const {
    taken.clear();
    size_t candidates = 0;
    for (const Lifetime& life : lives) candidates += by_time_.candidates(life);
    if (candidates * kSortingCost > by_offset_.size()) {
      return by_offset_.add_meeting(lives, taken);
    }
    for (const Lifetime& life : lives) by_time_.add_meeting(life, taken);
    std::sort(taken.begin(), taken.end(), begins_before);
  }

 private:
  static constexpr size_t kSortingCost = 4;
  ByTime by_time_;
  ByOffset by_offset_;
};

/// Where something goes between `taken` ranges; `best` is -1 if it fits into no gap.
struct Place {
  int64_t best, top;
};

/// The tightest gap that holds `bytes` between ranges in order, and the end of the last one.
Place best_gap(const std::vector<Range>& taken, int64_t bytes) {
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
int64_t place_among(const std::vector<Range>& taken, const std::vector<Range>& borders,
                    int64_t bytes) {
  if (!borders.empty()) {
    std::vector<Range> cut;
    std::merge(taken.begin(), taken.end(), borders.begin(), borders.end(), std::back_inserter(cut),
               begins_before);
    if (const Place in_copy = best_gap(cut, bytes); in_copy.best >= 0) return in_copy.best;
  }
  const Place place = best_gap(taken, bytes);
  return place.best >= 0 ? place.best : place.top;
}

/// A buffer with all the times at which it needs its bytes.
struct Tenant {
  int32_t buffer;
  std::vector<Lifetime> lives;
};

/// In the order of their first lives.
std::vector<Tenant> tenants_of(const Plan& plan, const std::vector<Lifetime>& lifetimes) {
  std::vector<Tenant> tenants;
  std::vector<int32_t> place(plan.buffers.size(), -1);
  for (const Lifetime& lifetime : lifetimes) {
    int32_t& at = place[size_t(lifetime.buffer)];
    if (at < 0) {
      at = int32_t(tenants.size());
      tenants.push_back({lifetime.buffer, {}});
    }
    tenants[size_t(at)].lives.push_back(lifetime);
  }
  return tenants;
}

/// Offline best fit behind `base`, largest first; copies lie there already. Returns the bytes used.
int64_t pack_transients(Plan& plan, const std::vector<Lifetime>& lifetimes, int64_t base,
                        size_t positions) {
  std::vector<Tenant> tenants = tenants_of(plan, lifetimes);
  std::stable_sort(tenants.begin(), tenants.end(), [&](const Tenant& a, const Tenant& b) {
    const Buffer &first = plan.buffers[size_t(a.buffer)], &second = plan.buffers[size_t(b.buffer)];
    if (first.persistent != second.persistent) return first.persistent;
    return first.bytes > second.bytes;
  });
  int64_t top = 0;
  Placed placed(positions);
  std::vector<Range> taken, borders;
  for (const Tenant& tenant : tenants) {
    Buffer& buffer = plan.buffers[size_t(tenant.buffer)];
    const int64_t bytes = placed_bytes(buffer);
    int64_t begin = buffer.offset - base;
    if (buffer.persistent) {
      borders.insert(borders.end(), {{begin, begin}, {begin + bytes, begin + bytes}});
      std::sort(borders.begin(), borders.end(), begins_before);
    } else {
      placed.meeting(tenant.lives, taken);
      begin = place_among(taken, borders, bytes);
      buffer.offset = base + begin;
    }
    for (const Lifetime& life : tenant.lives) placed.add(life, {begin, begin + bytes});
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
    const std::vector<Lifetime> lifetimes = lifetimes_in(plan, body, tier);
    top = std::max(top, base + pack_transients(plan, lifetimes, base, body.ops.size()));
  }
}

}  // namespace

void pack(Plan& plan) {
  for (Tier tier : {Tier::device, Tier::host, Tier::nvme}) pack_tier(plan, tier);
}

}  // namespace zero::plan
