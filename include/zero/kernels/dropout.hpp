#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/base/philox.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Names one use of dropout. The mask of an element is a function of (seed, site, global sample,
/// element within the sample) alone: no partition, schedule or recomputation changes it.
struct DropoutSite {
  float probability;      ///< of zeroing; 0 <= p < 1
  uint32_t site;          ///< numbers the uses of dropout in the model
  int64_t sample_offset;  ///< first sample of this micro-batch, counted from inputs->first_sample
};

/// Random words of four neighbouring elements [4 block, 4 block + 4) of one sample.
ZERO_HOST_DEVICE constexpr PhiloxBlock dropout_words(uint64_t seed, uint32_t site, int64_t sample,
                                                     uint32_t block) {
  return philox({{block, uint32_t(sample), uint32_t(uint64_t(sample) >> 32), site}}, seed);
}

/// An element is kept if its word is at least this.
ZERO_HOST_DEVICE constexpr uint32_t dropout_threshold(float probability) {
  return uint32_t(double(probability) * 4294967296.0);
}

struct DropoutExtents {
  int64_t samples;
  int64_t numel_per_sample;
};

/// out = mask * x / (1 - p) (+ residual where it is not null). Also its own gradient: apply it to
/// the gradient of `out` with residual = null.
///
///   x, residual, out  [samples, numel_per_sample]   out may be x or residual
///
/// With p = 0 it is a copy or an addition. Asynchronous on `stream`.
template <class T>
void dropout_add(Stream& stream, const DropoutSite& site, const DropoutExtents& extents,
                 const StepInputs* inputs, const T* x, const T* residual, T* out);

}  // namespace zero::kernels
