#pragma once
/// Lion on one element.

#include <cmath>
#include <cstdint>

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// master -= lr sign(beta1 m + (1 - beta1) g) after the decay master *= 1 - lr decay, then
/// m = beta2 m + (1 - beta2) g; sign(0) = 0. Source: Chen et al. 2023, algorithm 2
/// (arXiv:2302.06675), decay times learning rate as its program does.
struct Lion {
  static constexpr const char* kLabel = "zero::lion";
  static constexpr int kStates = 1;
  float beta1, beta2, share1, share2;  ///< share = 1 - beta, subtracted in double
  float learning_rate, keep;

  ZERO_HOST_DEVICE Lion(const OptimizerConfig& settings, const StepState& state, float decay)
      : beta1(float(settings.betas[0])),
        beta2(float(settings.betas[1])),
        share1(float(1.0 - settings.betas[0])),
        share2(float(1.0 - settings.betas[1])),
        learning_rate(state.learning_rate),
        keep(std::fma(-state.learning_rate, decay, 1.0f)) {}

  ZERO_HOST_DEVICE float operator()(float master, float g, float* const* states, int64_t i) const {
    const float m = states[0][i];
    const float direction = std::fma(beta1, m, share1 * g);
    states[0][i] = std::fma(beta2, m, share2 * g);
    const float sign = direction > 0.0f ? 1.0f : direction < 0.0f ? -1.0f : 0.0f;
    return std::fma(-learning_rate, sign, master * keep);
  }
};

}  // namespace zero::kernels
