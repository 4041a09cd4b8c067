#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {

template <class T>
struct RmsNormArrays {
  const T* x;       ///< [rows, width]
  const T* weight;  ///< [width]
  T* y;             ///< [rows, width], written
  float* rrms;      ///< [rows], written: 1 / sqrt(mean of x^2 + epsilon)
};

/// y = x * rrms * weight over the last axis, rounded once. The mean of squares is in fp32, a fixed
/// tree over the width. Asynchronous on `stream`.
/// Source: Zhang & Sennrich 2019, eq. 4 (arXiv:1910.07467), epsilon inside the square root.
template <class T>
void rmsnorm(Stream& stream, const NormExtents& extents, float epsilon,
             const RmsNormArrays<T>& arrays);

template <class T>
struct RmsNormGradArrays {
  const T* dy;        ///< [rows, width]
  const T* x;         ///< [rows, width]
  const T* weight;    ///< [width]
  const float* rrms;  ///< [rows]
  const T* add;       ///< [rows, width] added to dx (the residual branch's gradient), or null
  T* dx;              ///< [rows, width], written; may be dy or add
  T* dweight;         ///< [width], written
  float* scratch;     ///< [rmsnorm_scratch_numel(extents)]
};

/// Elements of fp32 scratch that rmsnorm_backward wants.
int64_t rmsnorm_scratch_numel(const NormExtents& extents);

/// Gradient of rmsnorm. dweight is a sum over rows in fp32 along a tree that depends on `rows`
/// alone, rounded once. Asynchronous on `stream`.
template <class T>
void rmsnorm_backward(Stream& stream, const NormExtents& extents,
                      const RmsNormGradArrays<T>& arrays);

}  // namespace zero::kernels
