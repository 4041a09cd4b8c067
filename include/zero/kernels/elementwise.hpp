#pragma once
/// Functions y = f(x) of each element alone, and their gradients. [numel], in fp32 between load and
/// store; T is float, bf16 or f16. dx may be dy. Asynchronous on `stream`.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). tanh is our own branch-free polynomial.
/// Source: Hendrycks & Gimpel 2016 (arXiv:1606.08415), the tanh form.
template <class T>
void gelu(Stream& stream, int64_t numel, const T* x, T* y);
/// dx = dy * gelu'(x).
template <class T>
void gelu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

/// y = max(x, 0)^2. Source: So et al. 2021 (arXiv:2109.08668).
template <class T>
void squared_relu(Stream& stream, int64_t numel, const T* x, T* y);
/// dx = dy * 2 max(x, 0).
template <class T>
void squared_relu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

}  // namespace zero::kernels
