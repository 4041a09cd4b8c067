#pragma once
/// Activation functions of one element and their slopes, in fp32 and without branches.

#include <cmath>

#include "kernels/support/math.hpp"
#include "zero/base/portable.hpp"

namespace zero::kernels {

inline constexpr float kGeluSlope = 1.5957691216057308f;  // 2 sqrt(2/pi)
inline constexpr float kGeluCubic = 0.044715f;

/// Returns e^(-2u) for u = sqrt(2/pi) (x + 0.044715 x^3). Note 0.5 (1 + tanh(u)) = 1 / (1 +
/// e^(-2u)).
ZERO_HOST_DEVICE ZERO_INLINE float gelu_odds(float x) {
  return exp_f32(-kGeluSlope * x * std::fma(kGeluCubic * x, x, 1.0f));
}

/// Returns 0.5 x (1 + tanh(u)).
ZERO_HOST_DEVICE ZERO_INLINE float gelu_f32(float x) { return x / (1.0f + gelu_odds(x)); }

/// Returns the slope of gelu_f32().
ZERO_HOST_DEVICE ZERO_INLINE float gelu_slope_f32(float x) {
  // Beyond 10 the slope is 0 or 1 to within 1e-35, and the clamp keeps odds finite.
  const float near = x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  const float o = gelu_odds(near), open = 1.0f / (1.0f + o);
  const float inner = kGeluSlope * std::fma(3.0f * kGeluCubic * near, near, 1.0f);
  return open * std::fma(near * inner, o * open, 1.0f);
}

/// Returns x / (1 + e^-x).
ZERO_HOST_DEVICE ZERO_INLINE float silu_f32(float x) { return x / (1.0f + exp_f32(-x)); }

/// Returns the slope of silu_f32().
ZERO_HOST_DEVICE ZERO_INLINE float silu_slope_f32(float x) {
  // Beyond 100 the slope is 0 or 1 to within 1e-37, and the clamp keeps products finite. As one
  // expression GCC makes a branch of it, and loops do not vectorise.
  const float low = x < -100.0f ? -100.0f : x, near = low > 100.0f ? 100.0f : low;
  const float o = exp_f32(-near), open = 1.0f / (1.0f + o);
  // 1 - open is o open, which does not cancel; at an infinite o it is 1.
  const float shut = near < -80.0f ? 1.0f : o * open;
  return open * std::fma(near, shut, 1.0f);
}

}  // namespace zero::kernels
