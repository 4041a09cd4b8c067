#pragma once
/// Losses of samples with one label each, from a few logits a sample.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

struct LabelExtents {
  int64_t samples;
  int64_t classes;  ///< logits of a sample
};

/// The arrays of a loss. Label is int32_t for a class, float for a number.
template <class T, class Label>
struct LabelArrays {
  const T* logits;      ///< [samples, classes]
  const Label* labels;  ///< [samples]
  float* scores;        ///< [samples, classes], logits in fp32, written; null: not wanted
  T* dlogits;           ///< [samples, classes], written; null: loss only
};

/// Adds the cross entropy of the logits and the class of every sample with a label to sums->loss,
/// and counts losses that are not finite in sums->nonfinite_loss. A label of -1 does not count.
/// Writes the gradient of loss_scale * sum of losses / counted_tokens, read from `state` and
/// `inputs`. Softmax is fp32. Asynchronous on `stream`. Throws Error(kInternal) for extents below
/// 1.
template <class T>
void class_loss(Stream& stream, const LabelExtents& extents, const StepInputs* inputs,
                const StepState* state, const LabelArrays<T, int32_t>& arrays, StepSums* sums);

/// Does what class_loss() does, with the square of logit - label as loss of a sample. A label of
/// NaN does not count. REQUIRES: one logit a sample.
template <class T>
void squared_loss(Stream& stream, const LabelExtents& extents, const StepInputs* inputs,
                  const StepState* state, const LabelArrays<T, float>& arrays, StepSums* sums);

}  // namespace zero::kernels
