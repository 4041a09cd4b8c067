#pragma once
/// tanh in fp32, without branches, and the cap on scores made of it. Source: Moshier's Cephes
/// (tanhf.c): coefficients and the place where the two forms meet.

#include "kernels/support/math.hpp"

namespace zero::kernels {

/// Returns tanh(x) to within 2 ulp; NaN at NaN.
ZERO_HOST_DEVICE ZERO_INLINE float tanh_f32(float x) {
  const float size = x < 0.0f ? -x : x, square = x * x;
  float p = -5.70498872745e-3f;
  p = std::fma(p, square, 2.06390887954e-2f);
  p = std::fma(p, square, -5.37397155531e-2f);
  p = std::fma(p, square, 1.33314422036e-1f);
  p = std::fma(p, square, -3.33332819422e-1f);
  const float small = std::fma(p * square, x, x);
  // Negative powers do not overflow.
  const float power = exp_f32(-2.0f * size);
  const float large = (1.0f - power) / (1.0f + power);
  return size < 0.625f ? small : x < 0.0f ? -large : large;
}

/// The cap on divided scores: s becomes limit tanh(s / limit).
struct ScoreCap {
  float limit = 0;    ///< 0: no cap
  float from = 0;     ///< factor of a product of a query and a key in front of tanh
  float inverse = 0;  ///< 1 / limit

  ScoreCap() = default;
  ZERO_HOST_DEVICE ScoreCap(float cap, float divisor)
      : limit(cap),
        from(cap > 0.0f ? 1.0f / (divisor * cap) : 0.0f),
        inverse(cap > 0.0f ? 1.0f / cap : 0.0f) {}
  ZERO_HOST_DEVICE bool acts() const { return limit > 0.0f; }
  /// Returns the capped score of a product of a query and a key.
  ZERO_HOST_DEVICE ZERO_INLINE float operator()(float product) const {
    return limit * tanh_f32(product * from);
  }
  /// Returns the derivative of a capped score by the divided one.
  ZERO_HOST_DEVICE ZERO_INLINE float slope(float capped) const {
    const float part = capped * inverse;
    return std::fma(-part, part, 1.0f);
  }
};

}  // namespace zero::kernels
