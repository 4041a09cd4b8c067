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

/// How a logit and a row's loss are made of products: as they are.
struct PlainLoss {
  static constexpr bool kOptions = false;

  ZERO_HOST_DEVICE float logit(float product, int64_t) const { return product; }
};

/// With a scale, a bias and label smoothing.
template <class T>
struct LossWithOptions {
  static constexpr bool kOptions = true;
  float scale, label_smoothing;
  const T* bias;  ///< [padded_vocabulary], or null

  ZERO_HOST_DEVICE float logit(float product, int64_t j) const {
    return std::fma(scale, product, bias == nullptr ? 0.0f : float(bias[j]));
  }
};

struct LossRows {
  const int32_t* targets;
  double* losses;
  const StepInputs* inputs;
  const StepState* state;
};

/// The largest logit of a row, and the sum of e^(logit - most).
struct RowSoftmax {
  float most, sum;
  float below = 0.0f;  ///< with options: the sum of most - logit
};

/// What turns a row's exponentials into its gradient.
template <class Loss>
struct RowGradient {
  int64_t vocabulary, padded_vocabulary;
  float factor;     ///< loss scale / (counted tokens * sum of exponentials)
  bool counted;     ///< false: the gradient is zero, whatever the logits are
  int64_t target;   ///< -1: none
  float at_target;  ///< the gradient there
  float spread;     ///< with options: what label smoothing takes from every class

  ZERO_HOST_DEVICE float operator()(int64_t j, float exponential) const {
    if constexpr (Loss::kOptions)
      return counted && j < vocabulary ? std::fma(exponential, factor, -spread) : 0.0f;
    else
      return counted && j < vocabulary ? exponential * factor : 0.0f;
  }
};

/// The target of a row, and what it makes of its softmax.
template <class Loss>
struct RowTarget {
  Loss loss;
  int32_t target;
  bool known;     ///< a class that exists
  float logit;    ///< its logit
  int64_t count;  ///< of classes that exist

  /// A class that does not exist shows as a loss that is not finite.
  ZERO_HOST_DEVICE double value(const RowSoftmax& softmax) const {
    double below = known ? double(softmax.most) - double(logit) : double(NAN);
    if constexpr (Loss::kOptions) {
      const double share = double(loss.label_smoothing);
      below = (1.0 - share) * below + share * (double(softmax.below) / double(count));
    }
    return target == -1 ? 0.0 : below + double(log_f32(softmax.sum));
  }
};

/// The target of row r, asked for before a gradient lies in place of the logits.
template <class Loss>
ZERO_HOST_DEVICE inline RowTarget<Loss> target_of(const Logits& logits, const LossRows& rows,
                                                  const Loss& loss, int64_t r) {
  const int32_t target = rows.targets[r];
  const bool known = target >= 0 && target < logits.vocabulary;
  const auto* const x = reinterpret_cast<const float*>(logits.row(r));
  return {loss, target, known, known ? loss.logit(x[target], target) : 0.0f, logits.vocabulary};
}

/// The gradient of the unscaled products; logits are a multiple of these.
template <class Loss>
ZERO_HOST_DEVICE inline RowGradient<Loss> gradient_of(const Logits& logits, const LossRows& rows,
                                                      const RowTarget<Loss>& target,
                                                      const RowSoftmax& softmax) {
  float scale = float(double(rows.state->loss_scale) / double(rows.inputs->counted_tokens));
  const float probability = exp_f32(target.logit - softmax.most) / softmax.sum;
  float own_share = 1.0f, spread = 0.0f;
  if constexpr (Loss::kOptions) {
    const float smoothing = target.loss.label_smoothing;
    const float each = smoothing / float(logits.vocabulary);
    scale *= target.loss.scale;
    own_share = 1.0f - smoothing + each;
    spread = each * scale;
  }
  return {.vocabulary = logits.vocabulary,
          .padded_vocabulary = logits.padded_vocabulary,
          .factor = scale / softmax.sum,
          .counted = target.target != -1,
          .target = target.known ? target.target : -1,
          .at_target = (probability - own_share) * scale,
          .spread = spread};
}

}  // namespace zero::kernels
