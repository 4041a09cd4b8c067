#pragma once
/// Functions y = f(x) of single elements, and their gradients. Arrays are [numel] of float, bf16 or
/// f16, and values fp32 between load and store. dx may be dy. Asynchronous on `stream`.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The largest size that clamp leaves, 64512: the fp16 number next to 65504 - 1000. Transformers'
/// encoder-decoders cut there.
inline constexpr float kClampLimit = 64512.0f;

/// A function of one element. Exponentials and normal distributions are branch-free polynomials of
/// our own.
enum class Activation {
  gelu,          ///< 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); Hendrycks & Gimpel 2016
                 ///< (arXiv:1606.08415), the tanh form
  squared_relu,  ///< max(x, 0)^2; So et al. 2021 (arXiv:2109.08668)
  gelu_erf,      ///< x Phi(x) = 0.5 x (1 + erf(x / sqrt(2))); Hendrycks & Gimpel, section 2
  relu,          ///< max(x, 0)
  clamp          ///< x, limited to [-kClampLimit, kClampLimit]; NaN stays NaN
};

/// Writes y = f(x) for `numel` elements, where f is `function`.
template <class T>
void activate(Stream& stream, Activation function, int64_t numel, const T* x, T* y);

template <class T>
struct ActivationGradient {
  const T* x;  ///< for relu and clamp perhaps y, which determines their slope
  const T* dy;
  T* dx;
};
/// Writes dx = dy f'(x) for `numel` elements, where f is `function`: the gradient of activate().
template <class T>
void activate_backward(Stream& stream, Activation function, int64_t numel,
                       const ActivationGradient<T>& arrays);

/// Writes y = scale y + shift in place, in fp32. `shift` is [numel], or null.
template <class T>
void scale_and_shift(Stream& stream, int64_t numel, float scale, const T* shift, float* y);

/// Writes y = cap tanh(y / cap) in place for `numel` elements, in fp32.
void cap_values(Stream& stream, int64_t numel, float cap, float* y);

/// Writes y = a b, elementwise. `y` may be a or b.
template <class T>
void multiply(Stream& stream, int64_t numel, const T* a, const T* b, T* y);

}  // namespace zero::kernels
