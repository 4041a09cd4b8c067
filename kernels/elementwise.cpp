#include "zero/kernels/elementwise.hpp"

#include "kernels/support/elements.hpp"
#include "kernels/support/math.hpp"

namespace zero::kernels {
namespace {

const std::string kGeluLabel = "zero::gelu", kGeluBackwardLabel = "zero::gelu_backward";
const std::string kSquaredReluLabel = "zero::squared_relu",
                  kSquaredReluBackwardLabel = "zero::squared_relu_backward";
const std::string kGeluErfLabel = "zero::gelu_erf",
                  kGeluErfBackwardLabel = "zero::gelu_erf_backward";
const std::string kReluLabel = "zero::relu", kReluBackwardLabel = "zero::relu_backward";
const std::string kClampLabel = "zero::clamp", kClampBackwardLabel = "zero::clamp_backward";
const std::string kMultiplyLabel = "zero::multiply", kScaleLabel = "zero::scale_and_shift";

constexpr float kSlope = 1.5957691216057308f;  // 2 sqrt(2/pi)
constexpr float kCubic = 0.044715f;

/// Returns e^(-2u) for u = sqrt(2/pi) (x + 0.044715 x^3). Note 0.5 (1 + tanh(u)) = 1 / (1 +
/// e^(-2u)).
KOKKOS_INLINE_FUNCTION float odds(float x) {
  return exp_f32(-kSlope * x * std::fma(kCubic * x, x, 1.0f));
}

/// Returns d/dx of x / (1 + odds(x)).
KOKKOS_INLINE_FUNCTION float slope(float x) {
  // Beyond 10 the slope is 0 or 1 to within 1e-35, and the clamp keeps odds finite.
  const float near = x < -10.0f ? -10.0f : x > 10.0f ? 10.0f : x;
  const float o = odds(near), open = 1.0f / (1.0f + o);
  const float inner = kSlope * std::fma(3.0f * kCubic * near, near, 1.0f);
  return open * std::fma(near * inner, o * open, 1.0f);
}

/// Returns max(x, 0). NaN stays NaN.
KOKKOS_INLINE_FUNCTION float positive(float x) { return x < 0.0f ? 0.0f : x; }

/// Returns 1 above zero, else 0. NaN stays NaN, so a product shows the NaN of either factor.
KOKKOS_INLINE_FUNCTION float step_up(float y) { return y > 0.0f ? 1.0f : positive(y); }

/// Returns 1 between the limits of clamp(), else 0. NaN stays NaN.
KOKKOS_INLINE_FUNCTION float inside(float y) {
  const float size = y < 0.0f ? -y : y;
  return size < kClampLimit ? 1.0f : size >= kClampLimit ? 0.0f : y;
}

KOKKOS_INLINE_FUNCTION float clamped(float x) {
  return x > kClampLimit ? kClampLimit : x < -kClampLimit ? -kClampLimit : x;
}

/// Returns d/dx of x Phi(x). Beyond kNormalEnd the density is 0, and x is cut to keep 0 x finite.
KOKKOS_FORCEINLINE_FUNCTION float slope_erf(float x) {
  const Normal normal = normal_f32(x);
  const float near = x < -kNormalEnd ? -kNormalEnd : x > kNormalEnd ? kNormalEnd : x;
  return std::fma(near, normal.density, normal.below);
}

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

template <class T>
void gelu_erf(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kGeluErfLabel, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return value * normal_f32(value).below; });
}

template <class T>
void gelu_erf_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx) {
  map_elements(
      stream, kGeluErfBackwardLabel, numel, Mapped<T, T, T>{x, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * slope_erf(value); });
}

template <class T>
void relu(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kReluLabel, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return positive(value); });
}

template <class T>
void relu_backward(Stream& stream, int64_t numel, const T* y, const T* dy, T* dx) {
  map_elements(
      stream, kReluBackwardLabel, numel, Mapped<T, T, T>{y, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * step_up(value); });
}

template <class T>
void clamp(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kClampLabel, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return clamped(value); });
}

template <class T>
void clamp_backward(Stream& stream, int64_t numel, const T* y, const T* dy, T* dx) {
  map_elements(
      stream, kClampBackwardLabel, numel, Mapped<T, T, T>{y, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * inside(value); });
}

template <class T>
void scale_and_shift(Stream& stream, int64_t numel, float scale, const T* shift, float* y) {
  if (shift == nullptr) {
    return map_elements(
        stream, kScaleLabel, numel, Mapped<float, float>{y, nullptr, y},
        KOKKOS_LAMBDA(float value, float) { return scale * value; });
  }
  map_elements(
      stream, kScaleLabel, numel, Mapped<float, float, T>{y, shift, y},
      KOKKOS_LAMBDA(float value, float more) { return std::fma(scale, value, more); });
}

template <class T>
void multiply(Stream& stream, int64_t numel, const T* a, const T* b, T* y) {
  map_elements(
      stream, kMultiplyLabel, numel, Mapped<T, T, T>{a, b, y},
      KOKKOS_LAMBDA(float first, float second) { return first * second; });
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
template void gelu_erf<float>(Stream&, int64_t, const float*, float*);
template void gelu_erf<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void gelu_erf<f16>(Stream&, int64_t, const f16*, f16*);
template void gelu_erf_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void gelu_erf_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void gelu_erf_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void relu<float>(Stream&, int64_t, const float*, float*);
template void relu<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void relu<f16>(Stream&, int64_t, const f16*, f16*);
template void relu_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void relu_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void relu_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void clamp<float>(Stream&, int64_t, const float*, float*);
template void clamp<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void clamp<f16>(Stream&, int64_t, const f16*, f16*);
template void clamp_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void clamp_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void clamp_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void multiply<float>(Stream&, int64_t, const float*, const float*, float*);
template void multiply<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void multiply<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void scale_and_shift<float>(Stream&, int64_t, float, const float*, float*);
template void scale_and_shift<bf16>(Stream&, int64_t, float, const bf16*, float*);
template void scale_and_shift<f16>(Stream&, int64_t, float, const f16*, float*);

}  // namespace zero::kernels
