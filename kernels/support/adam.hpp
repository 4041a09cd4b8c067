#pragma once
/// Adam on one element, and what it shares with both halves of LAMB: moments and direction.

#include <cmath>
#include <cstdint>

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// Places of the moments among the states.
inline constexpr int kMomentum = 0, kVariance = 1;

/// What does not differ between the elements of a segment, read from the device's state.
struct AdamStep {
  float beta1, beta2, share1, share2;  ///< share = 1 - beta, subtracted in double
  float scale, floor;                  ///< unbias1 unbias2_sqrt, epsilon unbias2_sqrt
  float grad_multiplier;
  float learning_rate;

  ZERO_HOST_DEVICE AdamStep(const OptimizerConfig& settings, const StepState& state)
      : beta1(float(settings.betas[0])),
        beta2(float(settings.betas[1])),
        share1(float(1.0 - settings.betas[0])),
        share2(float(1.0 - settings.betas[1])),
        scale(state.unbias1 * state.unbias2_sqrt),
        floor(float(settings.eps) * state.unbias2_sqrt),
        grad_multiplier(state.grad_multiplier),
        learning_rate(state.learning_rate) {}

  ZERO_HOST_DEVICE float momentum(float old, float g) const {
    return std::fma(beta1, old, share1 * g);
  }
  ZERO_HOST_DEVICE float variance(float old, float g) const {
    return std::fma(beta2, old, share2 * g * g);
  }
  /// m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon), multiplied through by unbias2_sqrt: a second
  /// division would make the loop slower than memory.
  ZERO_HOST_DEVICE float direction(float m, float v) const {
    return m * scale / (std::sqrt(v) + floor);
  }
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// master -= lr (m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon)) after the decay master *= 1 - lr
/// decay, or, if not kDecoupled, with a gradient to which decay master is added (L2). Source:
/// Loshchilov & Hutter 2019, algorithm 2 (arXiv:1711.05101), decay times learning rate as PyTorch
/// does.
template <bool kDecoupled>
struct Adam {
  static constexpr const char* kLabel = "zero::adam";
  static constexpr int kStates = 2;
  AdamStep step;
  float keep, l2;

  ZERO_HOST_DEVICE Adam(const OptimizerConfig& settings, const StepState& state, float decay)
      : step(settings, state), keep(std::fma(-step.learning_rate, decay, 1.0f)), l2(decay) {}

  ZERO_HOST_DEVICE float operator()(float master, float gradient, float* const* states,
                                    int64_t i) const {
    const float g = kDecoupled ? gradient : std::fma(l2, master, gradient);
    const float m = step.momentum(states[kMomentum][i], g);
    const float v = step.variance(states[kVariance][i], g);
    states[kMomentum][i] = m;
    states[kVariance][i] = v;
    return std::fma(-step.learning_rate, step.direction(m, v), kDecoupled ? master * keep : master);
  }
};

}  // namespace zero::kernels
