#pragma once
/// A few segments of an optimizer's slice, by value in a kernel, so that one launch takes them all.

#include <algorithm>
#include <cstdint>
#include <span>

#include "zero/base/portable.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

struct SegmentTable {
  /// A kernel's arguments end below 512 bytes; a usual block has nine segments.
  static constexpr int kMost = 12;
  int64_t begin[kMost] = {}, end[kMost] = {};
  float weight_decay[kMost] = {};

  /// Holds at most kMost segments.
  explicit SegmentTable(std::span<const OptimizerSegment> segments) {
    for (size_t s = 0; s < segments.size(); ++s) {
      begin[s] = segments[s].begin;
      end[s] = segments[s].end;
      weight_decay[s] = segments[s].weight_decay;
    }
  }

  /// How many of some elements are in segments.
  enum class Part : uint8_t { none, some, all };

  /// Whether one segment has all of [first, last), and then calls f(weight_decay); `some` where
  /// segments end or begin in between. All are compared, without a branch and at places that the
  /// compiler knows, which takes less time than the elements' bytes.
  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE Part with_decay_of(int64_t first, int64_t last, const F& f) const {
    bool all = false, some = false;
    float decay = 0.0f;
    for (int s = 0; s < kMost; ++s) {
      const bool has = begin[s] <= first && last <= end[s];
      some = some || (begin[s] < last && first < end[s]);
      all = all || has;
      decay = has ? weight_decay[s] : decay;
    }
    if (all) f(decay);
    return all ? Part::all : some ? Part::some : Part::none;
  }
};

/// Calls f(begin, end, table) for at most kMost segments at a time: the elements from the first
/// one's begin to the last one's end.
template <class F>
void for_each_table(std::span<const OptimizerSegment> segments, const F& f) {
  while (!segments.empty()) {
    const auto some = segments.first(std::min(segments.size(), size_t(SegmentTable::kMost)));
    f(some.front().begin, some.back().end, SegmentTable(some));
    segments = segments.subspan(some.size());
  }
}

}  // namespace zero::kernels
