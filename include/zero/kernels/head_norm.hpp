#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/base/portable.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/rotate.hpp"

namespace zero::kernels {

/// The norms of a row's queries and keys: one for each head, or, if `whole`, one for all heads of
/// queries and one for those of keys.
struct HeadNormExtents {
  PackedHeads packed;
  bool whole = false;

  /// Returns the number of norms of a row, those of queries in front.
  ZERO_HOST_DEVICE constexpr int64_t norms() const {
    return whole ? 2 : packed.heads_before_values();
  }
  ZERO_HOST_DEVICE constexpr int64_t query_norms() const { return whole ? 1 : packed.heads; }
  /// Returns the elements of the weight for queries. key_width(): for keys.
  ZERO_HOST_DEVICE constexpr int64_t query_width() const {
    return packed.head_width * (whole ? packed.heads : 1);
  }
  ZERO_HOST_DEVICE constexpr int64_t key_width() const {
    return packed.head_width * (whole ? packed.key_heads : 1);
  }
  /// Returns the number of elements of both weights together.
  ZERO_HOST_DEVICE constexpr int64_t weights() const { return query_width() + key_width(); }
};

template <class T>
struct HeadNormArrays {
  const T* x;             ///< [rows, columns]
  const T* query_weight;  ///< [query_width()]
  const T* key_weight;    ///< [key_width()]
  T* y;                   ///< [rows, columns], written; may be x
  float* rrms;            ///< [rows, norms()], written: 1 / sqrt(mean of x^2 + epsilon)
  float epsilon;
  float offset;  ///< added to weights
};

/// Writes y = x * rrms * (offset + weight) over the columns of each norm of queries and of keys,
/// rounded once. Copies values to y, and writes rrms. The mean of squares is fp32, along a fixed
/// tree. Asynchronous on `stream`. Source: Zhang & Sennrich 2019, eq. 4 (arXiv:1910.07467).
template <class T>
void head_norm(Stream& stream, const HeadNormExtents& extents, const HeadNormArrays<T>& arrays);

template <class T>
struct HeadNormGradArrays {
  const T* dy;            ///< [rows, columns]
  const T* x;             ///< [rows, columns]
  const T* query_weight;  ///< [query_width()]
  const T* key_weight;    ///< [key_width()]
  const float* rrms;      ///< [rows, norms()]
  T* dx;                  ///< [rows, columns], written; may be dy
  T* dquery_weight;       ///< [query_width()], written
  T* dkey_weight;         ///< [key_width()], written
  float* scratch;         ///< [head_norm_scratch_numel(extents)]
  float offset;           ///< as HeadNormArrays
};

/// Returns the fp32 elements of scratch that head_norm_backward() needs for these extents.
int64_t head_norm_scratch_numel(const HeadNormExtents& extents);

/// Writes the gradients of head_norm() for x and both weights. A weight's gradient is an fp32 sum
/// over rows and heads, rounded once. Its tree depends on the extents alone. Asynchronous on
/// `stream`.
template <class T>
void head_norm_backward(Stream& stream, const HeadNormExtents& extents,
                        const HeadNormGradArrays<T>& arrays);

}  // namespace zero::kernels
