#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). [numel], in fp32 between load and store.
/// tanh is our own branch-free polynomial. Asynchronous on `stream`.
/// Source: Hendrycks & Gimpel 2016 (arXiv:1606.08415), the tanh form.
template <class T>
void gelu(Stream& stream, int64_t numel, const T* x, T* y);

/// dx = dy * gelu'(x). [numel]; dx may be dy.
template <class T>
void gelu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

}  // namespace zero::kernels
