#pragma once
/// GELU in its tanh form, and its slope, with the GPU's own exponential and reciprocal, each within
/// 2 ulp: a tenth of the instructions of kernels/elementwise.cpp, for results in bf16. Device code.

#include <cuda_runtime.h>

namespace zero::kernels::vendor {

/// -2 u = log(2) x (kGeluPower + kGeluPower kGeluCubic x^2) for u = sqrt(2/pi) (x + 0.044715 x^3)
inline constexpr float kGeluCubic = 0.044715f;
inline constexpr float kGeluSlope = 1.5957691216057308f;  ///< 2 sqrt(2/pi)
inline constexpr float kGeluPower = -kGeluSlope * 1.4426950408889634f;

__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Returns x / (1 + e^(-2u)) = 0.5 x (1 + tanh(u)). The power ends at 2^126, whose reciprocal is
/// not 0. NaN stays NaN.
__device__ __forceinline__ float fast_gelu(float x) {
  float power = x * fmaf(kGeluPower * kGeluCubic, x * x, kGeluPower);
  asm("min.NaN.f32 %0, %0, 0f42FC0000;" : "+f"(power));
  return x * reciprocal(1.0f + power_of_2(power));
}

/// Returns d/dx of fast_gelu(x). Beyond 10 it is 0 or 1 to within 1e-35, and the clamp keeps all
/// terms finite. NaN stays NaN.
__device__ __forceinline__ float fast_gelu_slope(float x) {
  float near;
  asm("min.NaN.f32 %0, %1, 0f41200000;" : "=f"(near) : "f"(x));
  asm("max.NaN.f32 %0, %0, 0fC1200000;" : "+f"(near));
  const float square = near * near;
  const float odds = power_of_2(near * fmaf(kGeluPower * kGeluCubic, square, kGeluPower));
  const float open = reciprocal(1.0f + odds);
  const float inner = near * fmaf(3.0f * kGeluSlope * kGeluCubic, square, kGeluSlope);
  return open * fmaf(inner, odds * open, 1.0f);
}

}  // namespace zero::kernels::vendor
