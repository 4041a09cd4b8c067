#pragma once
/// Functions y = f(x) of single elements, and their gradients. Arrays are [numel] of float, bf16 or
/// f16, and values fp32 between load and store. dx may be dy. Asynchronous on `stream`.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Writes y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). The exponential inside is our own
/// branch-free polynomial. Source: Hendrycks & Gimpel 2016 (arXiv:1606.08415), the tanh form.
template <class T>
void gelu(Stream& stream, int64_t numel, const T* x, T* y);
/// Writes dx = dy * gelu'(x).
template <class T>
void gelu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

/// Writes y = max(x, 0)^2. Source: So et al. 2021 (arXiv:2109.08668).
template <class T>
void squared_relu(Stream& stream, int64_t numel, const T* x, T* y);
/// Writes dx = dy * 2 max(x, 0).
template <class T>
void squared_relu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

/// Writes y = x Phi(x) = 0.5 x (1 + erf(x / sqrt(2))). Phi, the normal distribution, is our own
/// branch-free polynomial. Source: Hendrycks & Gimpel 2016 (arXiv:1606.08415), section 2.
template <class T>
void gelu_erf(Stream& stream, int64_t numel, const T* x, T* y);
/// Writes dx = dy * (Phi(x) + x Phi'(x)).
template <class T>
void gelu_erf_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

/// Writes y = max(x, 0).
template <class T>
void relu(Stream& stream, int64_t numel, const T* x, T* y);
/// Writes dx = dy where y is positive, else 0. `y` may also be x.
template <class T>
void relu_backward(Stream& stream, int64_t numel, const T* y, const T* dy, T* dx);

/// The largest size that clamp() leaves, 64512: the fp16 number next to 65504 - 1000. Transformers'
/// encoder-decoders cut there.
inline constexpr float kClampLimit = 64512.0f;
/// Writes y = x, limited to [-kClampLimit, kClampLimit]. Infinity is limited, NaN stays NaN.
template <class T>
void clamp(Stream& stream, int64_t numel, const T* x, T* y);
/// Writes dx = dy where |y| is below kClampLimit, else 0.
template <class T>
void clamp_backward(Stream& stream, int64_t numel, const T* y, const T* dy, T* dx);

/// Writes y = scale y + shift in place, in fp32. `shift` is [numel], or null.
template <class T>
void scale_and_shift(Stream& stream, int64_t numel, float scale, const T* shift, float* y);

/// Writes y = a b. `y` may be a or b.
template <class T>
void multiply(Stream& stream, int64_t numel, const T* a, const T* b, T* y);

}  // namespace zero::kernels
