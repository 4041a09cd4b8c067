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

  /// Of at most kMost segments.
  explicit SegmentTable(std::span<const OptimizerSegment> segments) {
    for (size_t s = 0; s < segments.size(); ++s) {
      begin[s] = segments[s].begin;
      end[s] = segments[s].end;
      weight_decay[s] = segments[s].weight_decay;
    }
  }

  /// Calls f(weight_decay) where a segment has element i. All are compared, without a branch and at
  /// places that the compiler knows, which takes less time than the element's bytes.
  template <class F>
  ZERO_HOST_DEVICE ZERO_INLINE void with_decay_of(int64_t i, const F& f) const {
    bool found = false;
    float decay = 0.0f;
    for (int s = 0; s < kMost; ++s) {
      const bool has = begin[s] <= i && i < end[s];
      found = found || has;
      decay = has ? weight_decay[s] : decay;
    }
    if (found) f(decay);
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
