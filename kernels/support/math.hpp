#pragma once
/// exp, log and the normal distribution in fp32, without branches. Loops around them vectorise on
/// the host (the C library's vector versions exist only under -ffast-math) and give the same bits
/// on a device. Source of exp and log: Moshier's Cephes (expf.c, logf.c): coefficients and
/// reduction.

#include <bit>
#include <cmath>
#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero::kernels {

/// The parts of e^x, the product of a polynomial and a power of two.
struct ExpParts {
  float p;        ///< polynomial, in [0.7, 1.5]
  uint32_t bits;  ///< 0x4b400000 plus the exponent of two
};

ZERO_HOST_DEVICE ZERO_INLINE ExpParts exp_parts(float x) {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum. Unlike a conversion to
  // int, it is defined for NaN.
  constexpr float kToInteger = 12582912.0f;
  const float shifted = std::fma(x, 1.44269504088896341f, kToInteger);
  const float n = shifted - kToInteger;
  float r = std::fma(n, -0.693359375f, x);
  r = std::fma(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  return {std::fma(p, r * r, r) + 1.0f, std::bit_cast<uint32_t>(shifted)};
}

/// Returns e^x to within 1.1 ulp, subnormal results included: 0 at -inf, inf where it overflows,
/// NaN at NaN.
ZERO_HOST_DEVICE ZERO_INLINE float exp_f32(float x) {
  constexpr float kLowest = -104.0f, kHighest = 89.0f;  // 0 below, infinity above
  const ExpParts parts = exp_parts(x < kLowest ? kLowest : x > kHighest ? kHighest : x);
  // 2^n is split into two factors, because n reaches from -150 to 128 and one exponent does not.
  const int32_t power = int32_t(parts.bits - 0x4b400000u);
  const int32_t half = power >> 1;
  const float first = std::bit_cast<float>(uint32_t(half + 127) << 23);
  const float second = std::bit_cast<float>(uint32_t(power - half + 127) << 23);
  return parts.p * first * second;
}

/// The least x of exp_near_f32().
inline constexpr float kLeastNear = -86.0f;
/// Returns the bits of exp_f32(x), in two thirds of its instructions. REQUIRES: kLeastNear <= x <=
/// 0.
ZERO_HOST_DEVICE ZERO_INLINE float exp_near_f32(float x) {
  const ExpParts parts = exp_parts(x);
  // The result is normal, so the power is added to the exponent; the shift drops its other bits.
  return std::bit_cast<float>(std::bit_cast<uint32_t>(parts.p) + (parts.bits << 23));
}

/// Returns the natural logarithm to within 1.1 ulp, subnormal arguments included: -inf at 0, NaN
/// below and at NaN.
ZERO_HOST_DEVICE inline float log_f32(float x) {
  const bool subnormal = x < 0x1p-126f;
  const float scaled = subnormal ? x * 0x1p24f : x;
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)), so the exponent is counted from sqrt(1/2).
  constexpr uint32_t kRootHalf = 0x3f3504f3u;
  const uint32_t offset = std::bit_cast<uint32_t>(scaled) - kRootHalf;
  const float n = float(int32_t(offset) >> 23) - (subnormal ? 24.0f : 0.0f);
  const float m = std::bit_cast<float>((offset & 0x7fffffu) + kRootHalf) - 1.0f;
  float p = 7.0376836292e-2f;
  p = std::fma(p, m, -1.1514610310e-1f);
  p = std::fma(p, m, 1.1676998740e-1f);
  p = std::fma(p, m, -1.2420140846e-1f);
  p = std::fma(p, m, 1.4249322787e-1f);
  p = std::fma(p, m, -1.6668057665e-1f);
  p = std::fma(p, m, 2.0000714765e-1f);
  p = std::fma(p, m, -2.4999993993e-1f);
  p = std::fma(p, m, 3.3333331174e-1f);
  const float square = m * m;
  float tail = p * m * square;
  tail = std::fma(n, -2.12194440e-4f, tail);
  tail = std::fma(-0.5f, square, tail);
  const float finite = std::fma(n, 0.693359375f, m + tail);
  constexpr float kInfinity = std::bit_cast<float>(0x7f800000u);
  const float positive = x < kInfinity ? finite : x;  // infinity and NaN pass through
  return x > 0.0f ? positive : x == 0.0f ? -kInfinity : x - x + std::bit_cast<float>(0x7fc00000u);
}

/// The normal distribution at a number.
struct Normal {
  float below;    ///< Phi: share of smaller numbers
  float density;  ///< derivative of Phi, e^(-x^2 / 2) / sqrt(2 pi)
};

/// The density is zero in fp32 beyond this.
inline constexpr float kNormalEnd = 15.0f;

/// Returns both parts of the distribution, to within 5e-7 of their size down to 1e-37; NaN at NaN.
/// So is Phi in its lower tail, where (1 + erf) / 2 would cancel. The tail is the density times a
/// polynomial in 1 / (1 + 0.2316 |x|). Source: Abramowitz & Stegun 26.2.17, the form. The
/// coefficients are a minimax fit of the relative error, 6e-9, for |x| below 15.
ZERO_HOST_DEVICE ZERO_INLINE Normal normal_f32(float x) {
  const float size = x < 0.0f ? -x : x, a = size > kNormalEnd ? kNormalEnd : size;
  const float square = a * a, rest = std::fma(a, a, -square);  // rounding error of the square
  const float rounded = exp_f32(-0.5f * square);
  const float bell = std::fma(rounded, -0.5f * rest, rounded);
  const float t = 1.0f / std::fma(0.2316418883f, a, 1.0f);
  float p = 0.027491232323f;
  p = std::fma(p, t, -0.15388351344f);
  p = std::fma(p, t, 0.302447202f);
  p = std::fma(p, t, -0.26470047608f);
  p = std::fma(p, t, 0.23759502349f);
  p = std::fma(p, t, -0.017944496657f);
  p = std::fma(p, t, 0.10038007014f);
  p = std::fma(p, t, 0.083397340082f);
  p = std::fma(p, t, 0.092824135091f);
  p = std::fma(p, t, 0.092393480093f);
  const float tail = p * t * bell;
  return {.below = x < 0.0f ? tail : 1.0f - tail, .density = 0.3989422804f * bell};
}

}  // namespace zero::kernels
