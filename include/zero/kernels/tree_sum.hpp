#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The most sources that tree_sum() adds in one pass. It is a power of two, so the sum of such a
/// group is a subtree of the balanced tree over all sources.
inline constexpr int kMaxTreeSources = 64;

/// Returns the number of groups of `group` neighbours among `sources` arrays. The last group may be
/// smaller.
constexpr int groups_of(int sources, int group = kMaxTreeSources) {
  return (sources + group - 1) / group;
}

/// Returns the number of group sums that a tree over `sources` arrays in groups of `group` stores,
/// over all levels. 0 if one pass adds all sources.
constexpr int64_t group_sums(int sources, int group = kMaxTreeSources) {
  int64_t sums = 0;
  while (sources > group) sums += sources = groups_of(sources, group);
  return sums;
}

/// Adds the i-th elements of all `sources` ([numel] each, T) in fp32, along a balanced binary tree
/// over the source index: ((0+1)+(2+3))+... An odd one out joins one level higher. Writes the sum
/// to out[i], rounded to Out once. With `add` and Out = float, adds it to out[i].
///
/// Runs on the calling thread and is finished on return, because communicators call it between
/// copies. Throws Error(kInternal) for 0 sources or more than kMaxTreeSources.
template <class T, class Out>
void tree_sum(std::span<const T* const> sources, int64_t numel, Out* out, bool add);

/// Writes the sum of more sources than one pass takes, from the sums of their groups. `sums` holds
/// `groups` of them, [groups, numel], and behind these room for group_sums(groups) more. `out` and
/// `add` are as in tree_sum().
template <class Out>
void sum_groups(float* sums, int groups, int64_t numel, Out* out, bool add);

/// A stack of arrays, `stride` elements apart.
struct Stack {
  int sources;  ///< 1 to kMaxTreeSources
  int64_t stride;
};

/// Adds up the arrays of a stack from `first` on: writes out[i] = the fp32 sum over r of first[r *
/// stride + i], along the tree of tree_sum(), rounded to Out once. `add` is as in tree_sum(). first
/// [sources, stride], out [numel] on the device. Asynchronous on `stream`. Throws Error(kInternal)
/// for 0 sources or more than kMaxTreeSources.
template <class T, class Out>
void stacked_sum(Stream& stream, const Stack& stack, int64_t numel, const T* first, Out* out,
                 bool add);

/// Does what sum_groups() does, on the device. Asynchronous on `stream`.
template <class Out>
void stacked_sum_of_groups(Stream& stream, float* sums, int groups, int64_t numel, Out* out,
                           bool add);

}  // namespace zero::kernels
