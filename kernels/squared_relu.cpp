#include "zero/kernels/squared_relu.hpp"

#include "kernels/support/map.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::squared_relu", kBackward = "zero::squared_relu_backward";

/// NaN stays NaN.
KOKKOS_INLINE_FUNCTION float positive(float x) { return x < 0.0f ? 0.0f : x; }

}  // namespace

template <class T>
void squared_relu(Stream& stream, int64_t numel, const T* x, T* y) {
  map_elements(
      stream, kForward, numel, Mapped<T, T>{x, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return positive(value) * positive(value); });
}

template <class T>
void squared_relu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx) {
  map_elements(
      stream, kBackward, numel, Mapped<T, T, T>{x, dy, dx},
      KOKKOS_LAMBDA(float value, float gradient) { return gradient * 2.0f * positive(value); });
}

template void squared_relu<float>(Stream&, int64_t, const float*, float*);
template void squared_relu<bf16>(Stream&, int64_t, const bf16*, bf16*);
template void squared_relu<f16>(Stream&, int64_t, const f16*, f16*);
template void squared_relu_backward<float>(Stream&, int64_t, const float*, const float*, float*);
template void squared_relu_backward<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void squared_relu_backward<f16>(Stream&, int64_t, const f16*, const f16*, f16*);

}  // namespace zero::kernels
