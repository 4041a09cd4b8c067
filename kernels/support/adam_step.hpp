#pragma once
/// One element's moments and direction, shared by Adam and both halves of LAMB.

#include <cmath>

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// What does not differ between the elements of a segment, read from the device's state.
struct AdamStep {
  float beta1, beta2, rest1, rest2, epsilon;  ///< rest = 1 - beta, subtracted in double
  float grad_multiplier, unbias1, unbias2_sqrt;
  float learning_rate;

  ZERO_HOST_DEVICE AdamStep(const AdamRule& rule, const StepState& state)
      : beta1(float(rule.beta1)),
        beta2(float(rule.beta2)),
        rest1(float(1.0 - rule.beta1)),
        rest2(float(1.0 - rule.beta2)),
        epsilon(rule.epsilon),
        grad_multiplier(state.grad_multiplier),
        unbias1(state.unbias1),
        unbias2_sqrt(state.unbias2_sqrt),
        learning_rate(state.learning_rate) {}

  ZERO_HOST_DEVICE float momentum(float old, float g) const {
    return std::fma(beta1, old, rest1 * g);
  }
  ZERO_HOST_DEVICE float variance(float old, float g) const {
    return std::fma(beta2, old, rest2 * g * g);
  }
  /// m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon)
  ZERO_HOST_DEVICE float direction(float m, float v) const {
    return m * unbias1 / (std::sqrt(v) / unbias2_sqrt + epsilon);
  }
};

/// A gradient as the update reads it: an fp32 sum rounded to T first if kRound.
template <class T, bool kRound, class G>
ZERO_HOST_DEVICE float gradient_at(const G* grad, int64_t i, const AdamStep& step) {
  const float g = float(grad[i]);
  return (kRound ? float(T(g)) : g) * step.grad_multiplier;
}

}  // namespace zero::kernels
