#include "zero/kernels/elementwise.hpp"

#include "kernels/support/map.hpp"
#include "kernels/support/math.hpp"

namespace zero::kernels {
namespace {

const std::string kGeluLabel = "zero::gelu", kGeluBackwardLabel = "zero::gelu_backward";
const std::string kSquaredReluLabel = "zero::squared_relu",
                  kSquaredReluBackwardLabel = "zero::squared_relu_backward";

constexpr float kSlope = 1.5957691216057308f;  // 2 sqrt(2/pi)
constexpr float kCubic = 0.044715f;

/// e^(-2u) for u = sqrt(2/pi) (x + 0.044715 x^3):  0.5 (1 + tanh(u)) = 1 / (1 + e^(-2u)).
KOKKOS_INLINE_FUNCTION float odds(float x) {
  return exp_f32(-kSlope * x * std::fma(kCubic * x, x, 1.0f));
}

/// d/dx of x / (1 + odds(x)).
KOKKOS_INLINE_FUNCTION float slope(float x) {
  // Beyond 10 the slope is that of the line to within 1e-35, and the clamp keeps odds finite.
  const float near = x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  const float o = odds(near), open = 1.0f / (1.0f + o);
  const float inner = kSlope * std::fma(3.0f * kCubic * near, near, 1.0f);
  return open * std::fma(near * inner, o * open, 1.0f);
}

/// NaN stays NaN.
KOKKOS_INLINE_FUNCTION float positive(float x) { return x < 0.0f ? 0.0f : x; }

}  // namespace

template <class T>
void gelu(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kGeluLabel, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return value / (1.0f + odds(value)); });
}

template <class T>
void gelu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx) {
  map_elements(
      stream, kGeluBackwardLabel, numel, Mapped<T, T, T>{x, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * slope(value); });
}

template <class T>
void squared_relu(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kSquaredReluLabel, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return positive(value) * positive(value); });
}

template <class T>
void squared_relu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx) {
  map_elements(
      stream, kSquaredReluBackwardLabel, numel, Mapped<T, T, T>{x, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * 2.0f * positive(value); });
}

template void gelu<float>(Stream&, int64_t, const float*, float*);
template void gelu<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void gelu<f16>(Stream&, int64_t, const f16*, f16*);
template void gelu_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void gelu_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void gelu_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void squared_relu<float>(Stream&, int64_t, const float*, float*);
template void squared_relu<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void squared_relu<f16>(Stream&, int64_t, const f16*, f16*);
template void squared_relu_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void squared_relu_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void squared_relu_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);

}  // namespace zero::kernels
