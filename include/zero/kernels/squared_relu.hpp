#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// y = max(x, 0)^2. [numel], in fp32 between load and store. Asynchronous on `stream`.
/// Source: So et al. 2021 (arXiv:2109.08668).
template <class T>
void squared_relu(Stream& stream, int64_t numel, const T* x, T* y);

/// dx = dy * 2 max(x, 0). [numel]; dx may be dy.
template <class T>
void squared_relu_backward(Stream& stream, int64_t numel, const T* x, const T* dy, T* dx);

}  // namespace zero::kernels
