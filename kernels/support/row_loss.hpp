#pragma once
/// What a row of logits, its target and its softmax make: a loss and the numbers of its gradient.

#include <cmath>
#include <cstddef>

#include "kernels/support/math.hpp"
#include "zero/base/portable.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// One chunk of logits, [rows, padded_vocabulary] in fp32. Their gradient in T takes the front of
/// each row's bytes.
struct Logits {
  std::byte* memory;
  int64_t vocabulary, padded_vocabulary;

  ZERO_HOST_DEVICE std::byte* row(int64_t r) const {
    return memory + r * padded_vocabulary * int64_t(sizeof(float));
  }
};

struct LossRows {
  const int32_t* targets;
  double* losses;
  const StepInputs* inputs;
  const StepState* state;
};

/// The largest number of a row, and the sum of e^(x - most).
struct RowSoftmax {
  float most, sum;
};

/// What turns a row's exponentials into its gradient.
struct RowGradient {
  int64_t vocabulary, padded_vocabulary;
  float factor;     ///< loss scale / (counted tokens * sum of exponentials)
  bool counted;     ///< false: the gradient is zero, whatever the logits are
  int64_t target;   ///< -1: none
  float at_target;  ///< the gradient there

  ZERO_HOST_DEVICE float operator()(int64_t j, float exponential) const {
    return counted && j < vocabulary ? exponential * factor : 0.0f;
  }
};

/// The target of a row, and what it makes of its softmax.
struct RowTarget {
  int32_t target;
  bool known;   ///< a class that exists
  float logit;  ///< its logit

  /// A class that does not exist shows as a loss that is not finite.
  ZERO_HOST_DEVICE double loss(const RowSoftmax& softmax) const {
    const double below = known ? double(softmax.most) - double(logit) : double(NAN);
    return target == -1 ? 0.0 : below + double(log_f32(softmax.sum));
  }
};

/// The target of row r, asked for before a gradient lies in place of the logits.
ZERO_HOST_DEVICE inline RowTarget target_of(const Logits& logits, const LossRows& rows, int64_t r) {
  const int32_t target = rows.targets[r];
  const bool known = target >= 0 && target < logits.vocabulary;
  return {target, known, known ? reinterpret_cast<const float*>(logits.row(r))[target] : 0.0f};
}

ZERO_HOST_DEVICE inline RowGradient gradient_of(const Logits& logits, const LossRows& rows,
                                                const RowTarget& target,
                                                const RowSoftmax& softmax) {
  const float scale = float(double(rows.state->loss_scale) / double(rows.inputs->counted_tokens));
  const float probability = exp_f32(target.logit - softmax.most) / softmax.sum;
  return {.vocabulary = logits.vocabulary,
          .padded_vocabulary = logits.padded_vocabulary,
          .factor = scale / softmax.sum,
          .counted = target.target != -1,
          .target = target.known ? target.target : -1,
          .at_target = (probability - 1.0f) * scale};
}

}  // namespace zero::kernels
