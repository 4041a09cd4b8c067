#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Arrays one behind the other, `stride` elements from one to the next.
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
