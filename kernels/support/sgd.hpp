#pragma once
/// Stochastic gradient descent on one element.

#include <cmath>
#include <cstdint>

#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// g = gradient + decay master; b = momentum b + (1 - dampening) g, but g itself at the first
/// update; master -= lr b, or lr (g + momentum b) with Nesterov; without momentum, lr g. Source:
/// PyTorch, torch.optim.SGD.
template <bool kHasMomentum>
struct Sgd {
  static constexpr const char* kLabel = "zero::sgd";
  static constexpr int kStates = kHasMomentum ? 1 : 0;
  float decay, learning_rate;
  float keep, take;   ///< of the old buffer, and of the gradient
  float buffer, own;  ///< of the new buffer in the direction, and of the gradient

  ZERO_HOST_DEVICE Sgd(const OptimizerConfig& settings, const StepState& state, float weight_decay)
      : decay(weight_decay),
        learning_rate(state.learning_rate),
        keep(state.updates == 1 ? 0.0f : float(settings.momentum)),
        take(state.updates == 1 ? 1.0f : float(1.0 - settings.dampening)),
        buffer(settings.nesterov ? float(settings.momentum) : 1.0f),
        own(settings.nesterov ? 1.0f : 0.0f) {}

  ZERO_HOST_DEVICE float operator()(float master, float gradient, float* const* states,
                                    int64_t i) const {
    const float g = std::fma(decay, master, gradient);
    if constexpr (kHasMomentum) {
      const float b = std::fma(keep, states[0][i], take * g);
      states[0][i] = b;
      return std::fma(-learning_rate, std::fma(buffer, b, own * g), master);
    } else {
      return std::fma(-learning_rate, g, master);
    }
  }
};

}  // namespace zero::kernels
