#include "zero/kernels/elementwise.hpp"

#include "kernels/support/activations.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/math.hpp"
#include "kernels/support/tanh.hpp"

namespace zero::kernels {
namespace {

const std::string kMultiplyLabel = "zero::multiply", kScaleLabel = "zero::scale_and_shift",
                  kCapLabel = "zero::cap_values";

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

/// The names of a function's two kernels.
struct Labels {
  std::string forward, backward;
  explicit Labels(const std::string& name)
      : forward("zero::" + name), backward("zero::" + name + "_backward") {}
};

struct Gelu {
  static inline const Labels kLabels{"gelu"};
  KOKKOS_INLINE_FUNCTION static float of(float x) { return gelu_f32(x); }
  KOKKOS_INLINE_FUNCTION static float gradient(float x, float dy) { return dy * gelu_slope_f32(x); }
};

struct SquaredRelu {
  static inline const Labels kLabels{"squared_relu"};
  KOKKOS_INLINE_FUNCTION static float of(float x) { return positive(x) * positive(x); }
  KOKKOS_INLINE_FUNCTION static float gradient(float x, float dy) {
    return dy * 2.0f * positive(x);
  }
};

struct GeluErf {
  static inline const Labels kLabels{"gelu_erf"};
  KOKKOS_INLINE_FUNCTION static float of(float x) { return x * normal_f32(x).below; }
  KOKKOS_INLINE_FUNCTION static float gradient(float x, float dy) { return dy * slope_erf(x); }
};

struct Relu {
  static inline const Labels kLabels{"relu"};
  KOKKOS_INLINE_FUNCTION static float of(float x) { return positive(x); }
  KOKKOS_INLINE_FUNCTION static float gradient(float y, float dy) { return dy * step_up(y); }
};

struct Clamp {
  static inline const Labels kLabels{"clamp"};
  KOKKOS_INLINE_FUNCTION static float of(float x) { return clamped(x); }
  KOKKOS_INLINE_FUNCTION static float gradient(float y, float dy) { return dy * inside(y); }
};

template <class Function>
struct Value {
  KOKKOS_INLINE_FUNCTION float operator()(float x, float) const { return Function::of(x); }
};

template <class Function>
struct Gradient {
  KOKKOS_INLINE_FUNCTION float operator()(float x, float dy) const {
    return Function::gradient(x, dy);
  }
};

/// Calls use() with the struct of a function.
template <class Use>
void with_function(Activation function, const Use& use) {
  switch (function) {
    case Activation::gelu:
      return use(Gelu{});
    case Activation::squared_relu:
      return use(SquaredRelu{});
    case Activation::gelu_erf:
      return use(GeluErf{});
    case Activation::relu:
      return use(Relu{});
    case Activation::clamp:
      return use(Clamp{});
  }
}

}  // namespace

template <class T>
void activate(Stream& stream, Activation function, int64_t numel, const T* x, T* y) {
  with_function(function, [&]<class F>(F) {
    map_elements(stream, F::kLabels.forward, numel, Mapped<T, T>{x, nullptr, y}, Value<F>{});
  });
}

template <class T>
void activate_backward(Stream& stream, Activation function, int64_t numel,
                       const ActivationGradient<T>& arrays) {
  with_function(function, [&]<class F>(F) {
    map_elements(stream, F::kLabels.backward, numel,
                 Mapped<T, T, T>{arrays.x, arrays.dy, arrays.dx}, Gradient<F>{});
  });
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

void cap_values(Stream& stream, int64_t numel, float cap, float* y) {
  map_elements(
      stream, kCapLabel, numel, Mapped<float, float>{y, nullptr, y},
      KOKKOS_LAMBDA(float value, float) { return cap * tanh_f32(value / cap); });
}

template <class T>
void multiply(Stream& stream, int64_t numel, const T* a, const T* b, T* y) {
  map_elements(
      stream, kMultiplyLabel, numel, Mapped<T, T, T>{a, b, y},
      KOKKOS_LAMBDA(float first, float second) { return first * second; });
}

template void activate(Stream&, Activation, int64_t, const float*, float*);
template void activate(Stream&, Activation, int64_t, const bf16*, bf16*);
template void activate(Stream&, Activation, int64_t, const f16*, f16*);
template void activate_backward(Stream&, Activation, int64_t, const ActivationGradient<float>&);
template void activate_backward(Stream&, Activation, int64_t, const ActivationGradient<bf16>&);
template void activate_backward(Stream&, Activation, int64_t, const ActivationGradient<f16>&);
template void multiply<float>(Stream&, int64_t, const float*, const float*, float*);
template void multiply<bf16>(Stream&, int64_t, const bf16*, const bf16*, bf16*);
template void multiply<f16>(Stream&, int64_t, const f16*, const f16*, f16*);
template void scale_and_shift<float>(Stream&, int64_t, float, const float*, float*);
template void scale_and_shift<bf16>(Stream&, int64_t, float, const bf16*, float*);
template void scale_and_shift<f16>(Stream&, int64_t, float, const f16*, float*);

}  // namespace zero::kernels
