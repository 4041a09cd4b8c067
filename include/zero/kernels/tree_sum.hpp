#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"

namespace zero::kernels {

/// The most ranks that tree_sum() adds in one pass.
inline constexpr int kMaxTreeSources = 64;

/// Adds the i-th elements of all `sources` ([numel] each, T) in fp32 along one balanced binary tree
/// over the source index: ((0+1)+(2+3))+... An odd one out joins one level higher. Writes out[i],
/// rounded to Out once; with `add` and Out = float it is added to out[i] instead.
///
/// On the calling thread, finished on return: communicators call it between their copies.
/// Throws Error(kInternal) for 0 sources or more than kMaxTreeSources.
template <class T, class Out>
void tree_sum(std::span<const T* const> sources, int64_t numel, Out* out, bool add);

}  // namespace zero::kernels
