#pragma once
/// The formula of every optimizer that updates elements by themselves, and their choice by
/// settings. lamb_blocks.hpp shares Adam's moments and direction.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "zero/base/error.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

/// The formula of Lion. After the decay master *= 1 - lr decay:
///   master -= lr sign(beta1 m + (1 - beta1) g),  m = beta2 m + (1 - beta2) g,  sign(0) = 0
/// Source: Chen et al. 2023, algorithm 2 (arXiv:2302.06675), decay times learning rate as its
/// program does.
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

/// The formula of SGD. With g = gradient + decay master, b = momentum b + (1 - dampening) g, but b
/// = g at the first update. Then master -= lr b, or lr (g + momentum b) with Nesterov, or lr g
/// without momentum. Source: PyTorch, torch.optim.SGD.
template <bool kHasMomentum>
struct Sgd {
  static constexpr const char* kLabel = "zero::sgd";
  static constexpr int kStates = kHasMomentum ? 1 : 0;
  float decay, learning_rate;
  float keep, take;   ///< factors of the old buffer, and of the gradient
  float buffer, own;  ///< factors of the new buffer, and of the gradient, in the direction

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

// Adam on one element, shared with both halves of LAMB.

/// Indices of the moments among the states.
inline constexpr int kMomentum = 0, kVariance = 1;

/// The numbers that all elements of a segment share, read from the device's state.
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
  /// Returns m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon), multiplied through by unbias2_sqrt,
  /// because a second division would make the loop slower than memory.
  ZERO_HOST_DEVICE float direction(float m, float v) const {
    return m * scale / (std::sqrt(v) + floor);
  }
};

/// The formula of Adam:
///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///   master -= lr m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon)
/// If kDecoupled, the decay master *= 1 - lr decay comes first. Else decay master is added to the
/// gradient (L2). Source: Loshchilov & Hutter 2019, algorithm 2 (arXiv:1711.05101), decay times
/// learning rate as PyTorch does.
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

/// Calls f(std::type_identity<Formula>()) for the formula of these settings. Throws
/// Error(kInternal) for LAMB.
template <class F>
void with_formula(const OptimizerConfig& settings, const F& f) {
  switch (settings.type) {
    case OptimizerType::AdamW:
      return f(std::type_identity<Adam<true>>());
    case OptimizerType::Adam:
      if (settings.adam_w_mode) return f(std::type_identity<Adam<true>>());
      return f(std::type_identity<Adam<false>>());
    case OptimizerType::Lion:
      return f(std::type_identity<Lion>());
    case OptimizerType::SGD:
      if (settings.momentum > 0) return f(std::type_identity<Sgd<true>>());
      return f(std::type_identity<Sgd<false>>());
    case OptimizerType::LAMB:
      break;
  }
  ZERO_REQUIRE(false, "optimizer ", int(settings.type), " has no formula of single elements");
}

}  // namespace zero::kernels
