#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The most sources that tree_sum() adds in one pass. It is a power of two, so that the sum of a
/// group of so many neighbours is what the balanced tree over all sources has in that place.
inline constexpr int kMaxTreeSources = 64;

/// Into how many groups of neighbours `sources` fall; the last one may be smaller.
constexpr int groups_of(int sources, int group = kMaxTreeSources) {
  return (sources + group - 1) / group;
}

/// How many sums of groups, over all levels, a tree over `sources` has to keep: none where one pass
/// adds them all.
constexpr int64_t group_sums(int sources, int group = kMaxTreeSources) {
  int64_t sums = 0;
  while (sources > group) sums += sources = groups_of(sources, group);
  return sums;
}

/// Adds the i-th elements of all `sources` ([numel] each, T) in fp32 along one balanced binary tree
/// over the source index: ((0+1)+(2+3))+... An odd one out joins one level higher. Writes out[i],
/// rounded to Out once; with `add` and Out = float it is added to out[i] instead.
///
/// On the calling thread, finished on return: communicators call it between their copies.
/// Throws Error(kInternal) for 0 sources or more than kMaxTreeSources.
template <class T, class Out>
void tree_sum(std::span<const T* const> sources, int64_t numel, Out* out, bool add);

/// The rest of a balanced tree over more sources than one pass adds, from the sums of their groups.
/// Sums of `groups` groups lie one after the other in `sums`, [groups, numel]; after them there is
/// room for group_sums(groups) more. `out` and `add` are as in tree_sum().
template <class Out>
void sum_groups(float* sums, int groups, int64_t numel, Out* out, bool add);

/// Arrays one after the other, `stride` elements from one to the next.
struct Stack {
  int sources;  ///< 1 to kMaxTreeSources
  int64_t stride;
};

/// What tree_sum() computes, on the device: out[i] = the fp32 sum over r of stack[r * stride + i]
/// along the same balanced tree, rounded to Out once; with `add` and Out = float it is added to
/// out[i]. stack [sources, stride], out [numel]. Asynchronous on `stream`. Throws Error(kInternal)
/// for 0 sources or too many.
template <class T, class Out>
void stacked_sum(Stream& stream, const Stack& stack, int64_t numel, const T* first, Out* out,
                 bool add);

/// What sum_groups() computes, on the device; asynchronous on `stream`.
template <class Out>
void stacked_sum_of_groups(Stream& stream, float* sums, int groups, int64_t numel, Out* out,
                           bool add);

}  // namespace zero::kernels
