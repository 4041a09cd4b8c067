#pragma once

#include <array>
#include <iterator>
#include <map>

#include "src/plan/computed.hpp"
#include "src/plan/extents.hpp"
#include "src/plan/versions.hpp"

namespace zero::plan {

/// Turns (TurnClocks), by lane; -1: none.
using Readers = std::array<int32_t, kLanes>;

inline Readers nobody() {
  Readers readers;
  readers.fill(-1);
  return readers;
}

/// A stretch of an arena: whose bytes it holds and who may still be touching it.
struct Content {
  int64_t end = 0;
  int32_t buffer = -1;  ///< -1: nothing defined
  int32_t writer = -1;
  Readers readers = {};  ///< the latest reader a lane since the write
  Version version = {};
  Computed computed = {};
  bool counted = false;  ///< in a slot of a counter: the sum of a group of micro-batches
};

/// What all arenas of a plan hold at one place of a body.
class Contents {
 public:
  using Stretches = std::map<int64_t, Content>;  ///< by where they begin

  /// Nothing is defined.
  explicit Contents(const Plan& plan) {
    for (size_t tier = 0; tier < kTiers; ++tier) {
      tiers_[tier][0] = {.end = plan.arena_bytes[tier], .readers = nobody()};
    }
  }

  const Stretches& stretches(size_t tier) const { return tiers_[tier]; }

  /// Calls visit(content) for the stretches of an extent, until it returns false.
  template <class Visit>
  void visit(const Extent& extent, const Visit& visit) const {
    const Stretches& stretches = tiers_[size_t(extent.tier)];
    auto at = std::prev(stretches.upper_bound(extent.begin));
    for (; at != stretches.end() && at->first < extent.end; ++at) {
      if (!visit(at->second)) return;
    }
  }

  /// Calls change(content) for them, cut so that they are the extent and no more.
  template <class Change>
  void change(const Extent& extent, const Change& change) {
    Stretches& stretches = cut_at(extent);
    const auto last = stretches.lower_bound(extent.end);
    for (auto at = stretches.find(extent.begin); at != last; ++at) change(at->second);
  }

  /// From here on the extent is made up of whole stretches.
  void cut(const Extent& extent) { cut_at(extent); }

  /// `content` without its end and readers.
  void put(const Extent& extent, Content content) {
    Stretches& stretches = cut_at(extent);
    stretches.erase(stretches.find(extent.begin), stretches.lower_bound(extent.end));
    content.end = extent.end;
    content.readers = nobody();
    stretches[extent.begin] = content;
  }

 private:
  static void cut(Stretches& stretches, int64_t at) {
    const auto holder = std::prev(stretches.upper_bound(at));
    if (holder->first == at || at >= holder->second.end) return;
    Content upper = holder->second;
    holder->second.end = at;
    stretches[at] = upper;
  }

  Stretches& cut_at(const Extent& extent) {
    Stretches& stretches = tiers_[size_t(extent.tier)];
    cut(stretches, extent.begin);
    cut(stretches, extent.end);
    return stretches;
  }

  std::array<Stretches, kTiers> tiers_;
};

}  // namespace zero::plan
