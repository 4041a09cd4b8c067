#pragma once
/// One element's moments and direction, shared by Adam and both halves of LAMB.

#include <cmath>
#include <type_traits>

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// What does not differ between the elements of a segment, read from the device's state.
struct AdamStep {
  float beta1, beta2, rest1, rest2;  ///< rest = 1 - beta, subtracted in double
  float scale, floor;                ///< unbias1 unbias2_sqrt, epsilon unbias2_sqrt
  float grad_multiplier;
  float learning_rate;

  ZERO_HOST_DEVICE AdamStep(const AdamRule& rule, const StepState& state)
      : beta1(float(rule.beta1)),
        beta2(float(rule.beta2)),
        rest1(float(1.0 - rule.beta1)),
        rest2(float(1.0 - rule.beta2)),
        scale(state.unbias1 * state.unbias2_sqrt),
        floor(rule.epsilon * state.unbias2_sqrt),
        grad_multiplier(state.grad_multiplier),
        learning_rate(state.learning_rate) {}

  ZERO_HOST_DEVICE float momentum(float old, float g) const {
    return std::fma(beta1, old, rest1 * g);
  }
  ZERO_HOST_DEVICE float variance(float old, float g) const {
    return std::fma(beta2, old, rest2 * g * g);
  }
  /// m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon), multiplied through by unbias2_sqrt: a second
  /// division would make the loop slower than memory.
  ZERO_HOST_DEVICE float direction(float m, float v) const {
    return m * scale / (std::sqrt(v) + floor);
  }
};

/// A gradient as the update reads it: an fp32 sum rounded to T first if kRound.
template <class T, bool kRound, class G>
ZERO_HOST_DEVICE float gradient_at(const G* grad, int64_t i, const AdamStep& step) {
  const float g = float(grad[i]);
  return (kRound ? float(T(g)) : g) * step.grad_multiplier;
}

/// A gradient that is a T already rounds to itself.
template <class T, class G>
bool rounds_gradient(const AdamRule& rule) {
  return rule.round_gradient && !std::is_same_v<T, G>;
}

}  // namespace zero::kernels
