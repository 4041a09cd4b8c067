#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

struct NormExtents {
  int64_t rows;
  int64_t width;
};

template <class T>
struct LayerNormArrays {
  const T* x;       ///< [rows, width]
  const T* weight;  ///< [width]
  const T* bias;    ///< [width]
  T* y;             ///< [rows, width], written
  float* mean;      ///< [rows], written
  float* rstd;      ///< [rows], written
};

/// Writes y = (x - mean) * rstd * weight + bias over the last axis, mean and rstd = 1 /
/// sqrt(variance + epsilon). Statistics are fp32. The variance is taken from differences to the
/// mean, so a large offset does not cancel. Sums are fixed trees over the width. Asynchronous on
/// `stream`. Source: Ba, Kiros & Hinton 2016, eqs. 3-4 (arXiv:1607.06450), epsilon inside the
/// square root.
template <class T>
void layernorm(Stream& stream, const NormExtents& extents, float epsilon,
               const LayerNormArrays<T>& arrays);

template <class T>
struct LayerNormGradArrays {
  const T* dy;          ///< [rows, width]
  const T* x;           ///< [rows, width]
  const T* weight;      ///< [width]
  const float* mean;    ///< [rows]
  const float* rstd;    ///< [rows]
  const T* add;         ///< [rows, width], added to dx (the residual branch's gradient), or null
  T* dx;                ///< [rows, width], written; may be dy or add
  T* dweight;           ///< [width], written
  T* dbias;             ///< [width], written
  float* scratch;       ///< [layernorm_scratch_numel(extents, dx_sum != nullptr)]
  T* dx_sum = nullptr;  ///< [width], written: the sums of dx over rows, or null
  float offset = 0;     ///< added to weights; for RMS norm alone
};

/// Returns the fp32 elements of scratch that layernorm_backward() needs for these extents.
/// `dx_sum`: true if it writes dx_sum.
int64_t layernorm_scratch_numel(const NormExtents& extents, bool dx_sum);

/// Writes the gradients of layernorm() for x, weight and bias. Parameter gradients are fp32 sums
/// over rows, rounded once. Their tree depends on the extents alone. dx_sum is the bias gradient of
/// a linear layer whose dy is dx. On a host it has the bits of column_sum(). Asynchronous on
/// `stream`.
template <class T>
void layernorm_backward(Stream& stream, const NormExtents& extents,
                        const LayerNormGradArrays<T>& arrays);

template <class T>
struct RmsNormArrays {
  const T* x;        ///< [rows, width]
  const T* weight;   ///< [width]
  T* y;              ///< [rows, width], written
  float* rrms;       ///< [rows], written: 1 / sqrt(mean of x^2 + epsilon)
  float offset = 0;  ///< added to weights
};

/// Writes y = x * rrms * (offset + weight) over the last axis, rounded once, and rrms. The mean of
/// squares is fp32, along a fixed tree over the width. Asynchronous on `stream`. Source: Zhang &
/// Sennrich 2019, eq. 4 (arXiv:1910.07467), epsilon inside the square root.
template <class T>
void rmsnorm(Stream& stream, const NormExtents& extents, float epsilon,
             const RmsNormArrays<T>& arrays);

template <class T>
struct RmsNormGradArrays {
  const T* dy;        ///< [rows, width]
  const T* x;         ///< [rows, width]
  const T* weight;    ///< [width]
  const float* rrms;  ///< [rows]
  const T* add;       ///< [rows, width], added to dx (the residual branch's gradient), or null
  T* dx;              ///< [rows, width], written; may be dy or add
  T* dweight;         ///< [width], written
  float* scratch;     ///< [rmsnorm_scratch_numel(extents)]
  float offset = 0;   ///< added to weights
};

/// Returns the fp32 elements of scratch that rmsnorm_backward() needs for these extents.
int64_t rmsnorm_scratch_numel(const NormExtents& extents);

/// Writes the gradients of rmsnorm() for x and weight. dweight is an fp32 sum over rows, rounded
/// once. Its tree depends on the extents alone. Asynchronous on `stream`.
template <class T>
void rmsnorm_backward(Stream& stream, const NormExtents& extents,
                      const RmsNormGradArrays<T>& arrays);

}  // namespace zero::kernels
