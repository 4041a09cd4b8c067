#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/base/philox.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// A use of dropout. An element's mask depends only on seed, site, global sample and its place in
/// the sample. No partition, schedule or recomputation changes it.
struct DropoutSite {
  float probability;      ///< probability of zeroing, 0 <= p < 1
  uint32_t site;          ///< number of this use of dropout in the model
  int64_t sample_offset;  ///< first sample of this micro-batch, counted from inputs->first_sample
};

/// Returns the random words of elements [4 block, 4 block + 4) of one sample.
ZERO_HOST_DEVICE constexpr PhiloxBlock dropout_words(uint64_t seed, uint32_t site, int64_t sample,
                                                     uint32_t block) {
  return philox({{block, uint32_t(sample), uint32_t(uint64_t(sample) >> 32), site}}, seed);
}

/// Returns the least random word of an element that is kept.
ZERO_HOST_DEVICE constexpr uint32_t dropout_threshold(float probability) {
  return uint32_t(double(probability) * 4294967296.0);
}

struct DropoutExtents {
  int64_t samples;
  int64_t numel_per_sample;
};

/// Writes out = mask * x / (1 - p), plus `residual` unless null. The gradient is the same call on
/// the gradient of `out`, with residual = null.
///
///   x, residual, out  [samples, numel_per_sample]   out may be x or residual
///
/// With p = 0, copies or adds. Asynchronous on `stream`.
template <class T>
void dropout_add(Stream& stream, const DropoutSite& site, const DropoutExtents& extents,
                 const StepInputs* inputs, const T* x, const T* residual, T* out);

}  // namespace zero::kernels
