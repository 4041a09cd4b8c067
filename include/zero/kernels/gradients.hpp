#pragma once
/// Sums of gradients over micro-batches, and the norm. All arrays on the device, all asynchronous
/// on `stream`. T is float, bf16 or f16.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// sum[i] = grad[i] (start) or sum[i] += grad[i], fp32. [numel]
template <class T>
void accumulate(Stream& stream, int64_t numel, const T* grad, float* sum, bool start);

/// out[i] = T(sum[i]): the one rounding of a finished sum. [numel]; `out` must not overlap `sum`.
template <class T>
void round_sum(Stream& stream, int64_t numel, const float* sum, T* out);

/// Adds the squares of grad [numel] to sums->grad_squares in fp64 blocks of 2048 elements, counted
/// from the slice's start (slices start at multiples of 2048 within a unit), and counts the blocks
/// with a non-finite element in sums->nonfinite. G = float is rounded to T first if `round`.
template <class T, class G>
void sum_of_squares(Stream& stream, int64_t numel, const G* grad, bool round, StepSums* sums);

/// Writes zeros into `bytes` bytes; on a stream of the host into the host's, done when it returns.
void clear_bytes(Stream& stream, int64_t bytes, void* memory);

}  // namespace zero::kernels
