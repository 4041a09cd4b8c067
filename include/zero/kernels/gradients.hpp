#pragma once
/// Sums of gradients over micro-batches, and the norm. Arrays lie on the device. T is float, bf16
/// or f16. Asynchronous on `stream`.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Writes sum[i] = grad[i] if `start`, else adds grad[i] to sum[i], in fp32. Arrays are [numel].
template <class T>
void accumulate(Stream& stream, int64_t numel, const T* grad, float* sum, bool start);

/// Writes out[i] = T(sum[i]), the one rounding of a finished sum. Arrays are [numel]. REQUIRES:
/// `out` does not overlap `sum`.
template <class T>
void round_sum(Stream& stream, int64_t numel, const float* sum, T* out);

/// Adds the squares of grad [numel] to sums->grad_squares, in fp64 blocks of 2048 elements from the
/// slice's start. Counts blocks with a non-finite element in sums->nonfinite. If `round`, first
/// rounds G = float to T. REQUIRES: the slice starts at a multiple of 2048 within its unit.
template <class T, class G>
void sum_of_squares(Stream& stream, int64_t numel, const G* grad, bool round, StepSums* sums);

/// Adds words [numel] to *sum modulo 2^64, each times an odd number that its place gives it:
/// `first` is the place of words[0]. So terms may be added in any order, and one changed bit, or
/// two, always change the sum of fewer than 2^31 places. Does nothing unless inputs->audited. Word
/// is uint16_t or uint32_t.
template <class Word>
void digest(Stream& stream, const StepInputs* inputs, int64_t numel, const Word* words,
            int64_t first, int64_t* sum);

/// Writes zeros to the `bytes` bytes at `memory`, on the device. On a stream of the host: in host
/// memory, done on return.
void clear_bytes(Stream& stream, int64_t bytes, void* memory);

}  // namespace zero::kernels
