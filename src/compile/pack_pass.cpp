#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "src/compile/passes.hpp"
#include "zero/plan/lifetimes.hpp"

namespace zero::plan {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

bool begins_before(const Range& a, const Range& b) { return a.begin < b.begin; }

/// A placed buffer with a lifetime.
struct Entry {
  Lifetime life;
  Range range;
  bool meets(const Lifetime& other) const {
    return life.birth <= other.death && other.birth <= life.death;
  }
};

/// A search for the tightest gap of `bytes` between ranges passed in order of begin. The gap must
/// not cross `borders`, which are ordered too.
class GapSearch {
 public:
  GapSearch(int64_t bytes, std::span<const Range> borders) : bytes_(bytes), borders_(borders) {}

  int64_t bytes() const { return bytes_; }
  void pass(const Range& range) {
    for (; !borders_.empty() && borders_[0].begin <= range.begin; borders_ = borders_.subspan(1))
      look_before(borders_[0]);
    look_before(range);
  }
  /// Returns the best gap; -1 if none is large enough. REQUIRES: called after all ranges.
  int64_t best() {
    for (const Range& border : std::exchange(borders_, {})) look_before(border);
    return best_;
  }
  /// Returns the end of all ranges.
  int64_t top() const { return top_; }

 private:
  void look_before(const Range& range) {
    const int64_t slack = range.begin - top_ - bytes_;
    if (slack >= 0 && (best_ < 0 || slack < best_slack_)) {
      best_ = top_;
      best_slack_ = slack;
    }
    top_ = std::max(top_, range.end);
  }

  int64_t bytes_;
  std::span<const Range> borders_;
  int64_t top_ = 0, best_ = -1, best_slack_ = 0;
};

/// An index of entries by time. A long step has many buffers, of which few live at the same time.
/// Long-lived entries are visited in every search.
class ByTime {
 public:
  explicit ByTime(size_t positions) : windows_(positions / kWindow + 1) {}

  void add(const Entry& entry) {
    if (last(entry.life) - first(entry.life) >= kMostWindows) {
      long_.push_back(entry);
      return;
    }
    for (int32_t w = first(entry.life); w <= last(entry.life); ++w) {
      windows_[size_t(w)].push_back(entry);
    }
  }
  /// Returns the number of entries to visit for those that meet a lifetime.
  size_t candidates(const Lifetime& life) const {
    size_t count = long_.size();
    for (int32_t w = first(life); w <= last(life); ++w) count += windows_[size_t(w)].size();
    return count;
  }
  void add_meeting(const Lifetime& life, std::vector<Range>& taken) const {
    for (const Entry& entry : long_) {
      if (entry.meets(life)) taken.push_back(entry.range);
    }
    for (int32_t w = first(life); w <= last(life); ++w) {
      for (const Entry& entry : windows_[size_t(w)]) {
        if (entry.meets(life)) taken.push_back(entry.range);
      }
    }
  }

 private:
  static constexpr int32_t kWindow = 64;  ///< ops per window
  static constexpr int32_t kMostWindows = 256;
  static int32_t first(const Lifetime& life) { return life.birth / kWindow; }
  static int32_t last(const Lifetime& life) { return life.death / kWindow; }
  std::vector<std::vector<Entry>> windows_;
  std::vector<Entry> long_;
};

/// A block of entries in order of offset, with a summary that lets a search skip most blocks.
class Block {
 public:
  bool begins_behind(const Range& range) const { return begins_before(range, entries_[0].range); }
  size_t size() const { return entries_.size(); }

  void add(const Entry& entry) {
    const auto lies_before = [](const Entry& a, const Entry& b) {
      return begins_before(a.range, b.range);
    };
    entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, lies_before), entry);
    summarise();
  }
  /// Keeps the lower half and returns the upper one.
  Block split() {
    Block upper;
    const auto middle = entries_.begin() + ptrdiff_t(entries_.size() / 2);
    upper.entries_.assign(middle, entries_.end());
    entries_.erase(middle, entries_.end());
    summarise();
    upper.summarise();
    return upper;
  }

  /// Passes the ranges whose lifetimes meet one of `lives`.
  void pass(const std::vector<Lifetime>& lives, GapSearch& search) const {
    if (entries_.empty() || std::ranges::none_of(lives, [&](const Lifetime& life) {
          return first_birth_ <= life.death && life.birth <= last_death_;
        })) {
      return;
    }
    const bool all = std::ranges::any_of(lives, [&](const Lifetime& life) {
      return last_birth_ <= life.death && life.birth <= first_death_;
    });
    if (all && widest_gap_ < search.bytes()) {
      return search.pass({entries_[0].range.begin, end_});
    }
    for (const Entry& entry : entries_) {
      const auto meets = [&](const Lifetime& life) { return entry.meets(life); };
      if (all || std::ranges::any_of(lives, meets)) search.pass(entry.range);
    }
  }

 private:
  void summarise() {
    first_birth_ = first_death_ = std::numeric_limits<int32_t>::max();
    last_birth_ = last_death_ = std::numeric_limits<int32_t>::min();
    end_ = entries_[0].range.begin;
    widest_gap_ = 0;
    for (const Entry& entry : entries_) {
      first_birth_ = std::min(first_birth_, entry.life.birth);
      last_birth_ = std::max(last_birth_, entry.life.birth);
      first_death_ = std::min(first_death_, entry.life.death);
      last_death_ = std::max(last_death_, entry.life.death);
      widest_gap_ = std::max(widest_gap_, entry.range.begin - end_);
      end_ = std::max(end_, entry.range.end);
    }
  }

  std::vector<Entry> entries_;
  int32_t first_birth_ = 0, last_birth_ = 0, first_death_ = 0, last_death_ = 0;
  int64_t end_ = 0;         ///< end of all ranges
  int64_t widest_gap_ = 0;  ///< widest gap between ranges, if all meet
};

/// An index of entries by offset. An entry that lives through much of a long step meets most
/// others, and here they are in order. Most blocks meet a buffer at all of its times or at none and
/// have no gap for it. Therefore thousands of layers are placed in seconds.
class ByOffset {
 public:
  void add(const Entry& entry) {
    if (blocks_.empty()) blocks_.emplace_back();
    auto block = std::upper_bound(
        blocks_.begin() + 1, blocks_.end(), entry.range,
        [](const Range& range, const Block& other) { return other.begins_behind(range); });
    --block;
    block->add(entry);
    ++size_;
    if (block->size() < kMostEntries) return;
    Block upper = block->split();
    blocks_.insert(block + 1, std::move(upper));
  }
  /// Returns the approximate number of entries and blocks that a search visits.
  size_t candidates() const { return std::min(size_, blocks_.size() + kMostEntries); }
  void pass_meeting(const std::vector<Lifetime>& lives, GapSearch& search) const {
    for (const Block& block : blocks_) block.pass(lives, search);
  }

 private:
  static constexpr size_t kMostEntries = 512;
  std::vector<Block> blocks_;  ///< none empty except the first
  size_t size_ = 0;
};

/// A pair of both indices; a search uses the faster one.
class Placed {
 public:
  explicit Placed(size_t positions) : by_time_(positions) {}

  void add(const Lifetime& life, const Range& range) {
    by_time_.add({life, range});
    by_offset_.add({life, range});
  }

  /// Prepares searches among the ranges whose lifetimes meet one of `lives`.
  void look_at(const std::vector<Lifetime>& lives) {
    taken_.clear();
    size_t candidates = 0;
    for (const Lifetime& life : lives) candidates += by_time_.candidates(life);
    by_time_is_sooner_ = candidates * kSortingCost <= by_offset_.candidates();
    if (!by_time_is_sooner_) return;
    for (const Lifetime& life : lives) by_time_.add_meeting(life, taken_);
    std::sort(taken_.begin(), taken_.end(), begins_before);
  }
  void search(const std::vector<Lifetime>& lives, GapSearch& search) const {
    if (!by_time_is_sooner_) return by_offset_.pass_meeting(lives, search);
    for (const Range& range : taken_) search.pass(range);
  }

 private:
  static constexpr size_t kSortingCost = 4;
  ByTime by_time_;
  ByOffset by_offset_;
  bool by_time_is_sooner_ = false;
  std::vector<Range> taken_;
};

/// Returns the offset of a buffer: between copies' borders if it fits, so only one copy waits for
/// it. Otherwise the tightest gap, or the end.
int64_t place_among(Placed& placed, const std::vector<Lifetime>& lives,
                    const std::vector<Range>& borders, int64_t bytes) {
  placed.look_at(lives);
  if (!borders.empty()) {
    GapSearch in_copy(bytes, borders);
    placed.search(lives, in_copy);
    if (const int64_t best = in_copy.best(); best >= 0) return best;
  }
  GapSearch anywhere(bytes, {});
  placed.search(lives, anywhere);
  return anywhere.best() >= 0 ? anywhere.best() : anywhere.top();
}

/// A buffer with all its lifetimes.
struct Tenant {
  int32_t buffer;
  std::vector<Lifetime> lives;
};

/// Returns the tenants in order of their first lives.
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

std::vector<Lifetime> lifetimes_in(const Plan& plan, const Body& body, Tier tier) {
  std::vector<Lifetime> lifetimes = find_lifetimes(plan, body);
  std::erase_if(lifetimes, [&](const Lifetime& lifetime) {
    return plan.buffers[size_t(lifetime.buffer)].tier != tier;
  });
  return lifetimes;
}

constexpr ptrdiff_t kTenantsOfInterrupt = 64;

/// The place of a body's transient buffers.
struct Place {
  const Body& body;
  Tier tier;
  int64_t base;  ///< offset of its copies
};

/// Packs transient buffers after the base by offline best fit, largest first. Copies are already
/// placed there. Returns the bytes used.
int64_t pack_transients(Plan& plan, const Place& place, const Interrupt& interrupt) {
  const std::vector<Lifetime> lifetimes = lifetimes_in(plan, place.body, place.tier);
  std::vector<Tenant> tenants = tenants_of(plan, lifetimes);
  std::stable_sort(tenants.begin(), tenants.end(), [&](const Tenant& a, const Tenant& b) {
    const Buffer &first = plan.buffers[size_t(a.buffer)], &second = plan.buffers[size_t(b.buffer)];
    if (first.persistent != second.persistent) return first.persistent;
    return first.bytes > second.bytes;
  });
  int64_t top = 0;
  Placed placed(place.body.ops.size());
  std::vector<Range> borders;
  for (const Tenant& tenant : tenants) {
    if (interrupt && (&tenant - tenants.data()) % kTenantsOfInterrupt == 0) interrupt();
    Buffer& buffer = plan.buffers[size_t(tenant.buffer)];
    const int64_t bytes = placed_bytes(buffer);
    int64_t begin = buffer.offset - place.base;
    if (buffer.persistent) {
      borders.insert(borders.end(), {{begin, begin}, {begin + bytes, begin + bytes}});
      std::sort(borders.begin(), borders.end(), begins_before);
    } else {
      begin = place_among(placed, tenant.lives, borders, bytes);
      buffer.offset = place.base + begin;
    }
    for (const Lifetime& life : tenant.lives) placed.add(life, {begin, begin + bytes});
    top = std::max(top, begin + bytes);
  }
  return top;
}

/// Packs persistent buffers in their order, either copies or the others. Returns the end of the
/// last.
int64_t pack_persistent(Plan& plan, Tier tier, bool copies, int64_t top) {
  for (Buffer& buffer : plan.buffers) {
    const bool copy = buffer.copy_of >= 0;
    if (!buffer.persistent || buffer.tier != tier || copy != copies) continue;
    buffer.offset = top;
    top += placed_bytes(buffer);
  }
  return top;
}

/// Packs an arena: persistent buffers, then copies. Bodies place transient buffers on and behind
/// the copies.
void pack_tier(Plan& plan, Tier tier, const Interrupt& interrupt) {
  const int64_t base = pack_persistent(plan, tier, false, 0);
  int64_t& top = plan.arena_bytes[size_t(tier)];
  top = pack_persistent(plan, tier, true, base);
  for (const Body& body : plan.bodies) {
    const Place place = {.body = body, .tier = tier, .base = base};
    top = std::max(top, base + pack_transients(plan, place, interrupt));
  }
}

}  // namespace

void pack(Plan& plan, const Interrupt& interrupt) {
  for (Tier tier : {Tier::device, Tier::host, Tier::nvme}) pack_tier(plan, tier, interrupt);
}

}  // namespace zero::plan
