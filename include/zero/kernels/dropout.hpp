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

/// Rows of a table that all samples of a step read. The mask of a row depends only on seed, site,
/// the step's first sample and the row's number in the table: it is the same for every micro-batch
/// and for texts of any length.
struct TableRows {
  int64_t first, count;
  int64_t width;
};

/// Returns the random words of elements [4 block, 4 block + 4) of global sample number `sample`,
/// for a use of dropout and the seed of a run.
ZERO_HOST_DEVICE constexpr PhiloxBlock dropout_words(uint64_t seed, uint32_t site, int64_t sample,
                                                     uint32_t block) {
  return philox({{block, uint32_t(sample), uint32_t(uint64_t(sample) >> 32), site}}, seed);
}

/// Returns the least random word of an element that is kept, if elements are zeroed with this
/// probability.
ZERO_HOST_DEVICE constexpr uint32_t dropout_threshold(float probability) {
  return uint32_t(double(probability) * 4294967296.0);
}

struct DropoutExtents {
  int64_t samples;
  int64_t numel_per_sample;
};

/// Writes out = mask * x / (1 - p), plus `residual` unless null. The mask and p are those of `site`
/// in the step of `inputs`. The gradient is the same call on the gradient of `out`, with residual =
/// null.
///
///   x, residual, out  [samples, numel_per_sample]   out may be x or residual
///
/// With p = 0, copies or adds. Asynchronous on `stream`.
template <class T>
void dropout_add(Stream& stream, const DropoutSite& site, const DropoutExtents& extents,
                 const StepInputs* inputs, const T* x, const T* residual, T* out);

/// Writes out = mask * x / (1 - p) for rows of a table. The mask and p are those of `site` in the
/// step of `inputs`. The gradient is the same call on the gradient of `out`. Does not read
/// site.sample_offset.
///
///   x, out  [rows.count, rows.width]   out may be x
///
/// Asynchronous on `stream`.
template <class T>
void drop_rows(Stream& stream, const DropoutSite& site, const TableRows& rows,
               const StepInputs* inputs, const T* x, T* out);

}  // namespace zero::kernels
