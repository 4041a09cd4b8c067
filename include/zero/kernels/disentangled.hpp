#pragma once
/// Disentangled attention: scores with terms of content and of relative position. Source: He et al.
/// 2021 (arXiv:2006.03654), section 3.1; buckets are those of its second version.

#include <cmath>
#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/dropout.hpp"

namespace zero::kernels {

/// A table of distances between tokens. Near distances have a row each, far ones share a row.
struct DistanceTable {
  int64_t buckets;        ///< rows of a side; 0: each distance has a row
  int64_t most_distance;  ///< bucketed distances up to here have different signs of `buckets` rows

  /// Returns the number of rows for distances of one sign.
  int64_t side() const { return buckets > 0 ? buckets : most_distance; }
  /// Returns the number of rows of the table.
  int64_t rows() const { return 2 * side(); }
  bool operator==(const DistanceTable&) const = default;
};

/// The most rows of a side of a table.
inline constexpr int64_t kDistanceSideMost = 1 << 15;

/// Returns the bucket in `table` of a query that lies `distance` places after its key. It is odd:
/// the bucket of -distance is the negative one. Computes logarithms in fp32 in Hugging Face's
/// order. Throws Error(kInternal) for a table without rows, or buckets that most_distance does not
/// exceed.
int64_t distance_bucket(const DistanceTable& table, int64_t distance);

/// Returns the row of `table` for a query that lies `distance` places after its key. Distances
/// beyond the table take its first or last row.
int64_t distance_row(const DistanceTable& table, int64_t distance);

/// The consecutive rows of a table that texts of one length read.
struct DistanceRows {
  int64_t first, count;
};
/// Returns the rows of `table` that texts of `length` tokens read.
DistanceRows distance_rows(const DistanceTable& table, int64_t length);

struct DisentangledExtents {
  int64_t samples;
  int64_t length;  ///< tokens of a sample
  int64_t heads;
  int64_t head_width;
  DistanceTable table;
  bool counted = false;  ///< AttentionInputs::key_counts is set

  int64_t inner_width() const { return heads * head_width; }
  /// Returns the number of rows of the table that the length reads.
  int64_t rows() const { return distance_rows(table, length).count; }
  /// Returns the extents of plain attention over these tokens. Scores have three terms, and so
  /// three times the variance.
  AttentionExtents plain() const {
    return {.samples = samples,
            .length = length,
            .heads = heads,
            .head_width = head_width,
            .causal = false,
            .counted = counted,
            .divide_by = std::sqrt(3.0f * float(head_width))};
  }
};

/// Returns the bytes of scratch that disentangled_attention() and its gradient need for these
/// extents, on arrays of `dtype` with `threads` threads.
int64_t disentangled_scratch_bytes(const DisentangledExtents& extents, Dtype dtype, int threads);

/// Prepares the products of disentangled_attention() with these extents on arrays of `dtype`, or if
/// `backward`, those of its gradient. See prepare_product(). Does nothing on a GPU.
void prepare_disentangled(const DisentangledExtents& extents, Dtype dtype, bool backward);

/// The projected rows of the table that the length reads, [rows(), inner width], heads side by
/// side.
template <class T>
struct PositionRows {
  T* keys;     ///< which queries meet
  T* queries;  ///< which keys meet
};

template <class T>
struct DisentangledArrays {
  AttentionInputs<T> in;  ///< bias is null
  PositionRows<const T> positions;
  T* y;              ///< [samples * length, inner width], written
  float* logsumexp;  ///< [samples, heads, length], written, kept for the backward pass
  void* scratch;
};

/// Writes y = softmax(s / sqrt(3 head_width)) v with
///
///   s[i, j] = q_i . k_j + q_i . positions.keys[r] + k_j . positions.queries[r]
///
/// and r the row of distance i - j, counted from the first one that the length reads. A sample has
/// key_counts tokens; rows behind them are padding, are not read, and get zeros for y and
/// logsumexp. Dropout of `site`, in the step of `inputs`, is that of attention(): the same counters
/// and elements. Products add in fp32. Asynchronous on `stream`. Throws Error(kInternal) if extents
/// and arrays do not fit.
template <class T>
void disentangled_attention(Stream& stream, const DisentangledExtents& extents,
                            const DropoutSite& site, const StepInputs* inputs,
                            const DisentangledArrays<T>& arrays);

template <class T>
struct DisentangledGradArrays {
  AttentionInputs<T> in;
  PositionRows<const T> positions;
  const T* dy;                 ///< [samples * length, inner width]; padding is not read
  const T* y;                  ///< [samples * length, inner width]
  const float* logsumexp;      ///< [samples, heads, length]
  T *dq, *dk, *dv;             ///< laid out as q, k, v, written; zeros for padding
  PositionRows<T> dpositions;  ///< laid out as positions, written
  void* scratch;
};

/// Writes the gradients of disentangled_attention() for q, k, v and the positions, with the
/// extents, site and inputs of that call. The gradient of a position adds the scores of its
/// distances in order, then queries or keys, then samples: an order that follows from the extents
/// alone, without atomic additions. Asynchronous on `stream`.
template <class T>
void disentangled_attention_backward(Stream& stream, const DisentangledExtents& extents,
                                     const DropoutSite& site, const StepInputs* inputs,
                                     const DisentangledGradArrays<T>& arrays);

}  // namespace zero::kernels
