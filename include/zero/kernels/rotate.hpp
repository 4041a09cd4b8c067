#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/base/portable.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Rows with heads side by side: `heads` of queries, then `key_heads` of keys and `key_heads` of
/// values.
struct PackedHeads {
  int64_t rows;
  int64_t heads, key_heads;
  int64_t head_width;

  ZERO_HOST_DEVICE constexpr int64_t heads_in_row() const { return heads + 2 * key_heads; }
  /// Returns the number of heads of queries and keys together.
  ZERO_HOST_DEVICE constexpr int64_t heads_before_values() const { return heads + key_heads; }
  ZERO_HOST_DEVICE constexpr int64_t columns() const { return heads_in_row() * head_width; }
};

struct RotateExtents {
  PackedHeads packed;  ///< head_width is even
  int64_t length;      ///< rows of a sample, which divides the rows
  int64_t pairs;       ///< columns i and i + pairs of a head turn, i < pairs
  int64_t positions;   ///< rows of the tables
};

/// The arrays of a rotation. A table is [positions, 2 pairs]: cosines, then sines.
template <class T>
struct RotateArrays {
  const T* x;                 ///< [rows, columns]
  const float* query_table;   ///< of heads of queries
  const float* key_table;     ///< of heads of keys
  const int32_t* first;       ///< [rows], subtracted from the place in the sample; null: zeros
  const DecodeInputs* chunk;  ///< of a chunk; null: rows are samples from their start
  const ChunkRow* rows;       ///< [rows] of a chunk, of which chunk->rows count
  T* y;                       ///< [rows, columns], written; may be x
};

/// Writes y = x with its queries and keys turned by the angles of their positions: columns i and i
/// + pairs of a head, a and b, become a cos - b sin and b cos + a sin, rounded once. Copies values,
/// and the columns from 2 pairs on. Writes zeros to rows of a chunk from chunk->rows on.
/// Asynchronous on `stream`. REQUIRES: every position is in [0, positions). Source: Su et al. 2021
/// (arXiv:2104.09864), eq. 34, with the halves of a head as pairs.
template <class T>
void rotate(Stream& stream, const RotateExtents& extents, const RotateArrays<T>& arrays);

/// Does what rotate() does, by the negative angles: the gradient of rotate(), with x for dy and y
/// for dx.
template <class T>
void rotate_backward(Stream& stream, const RotateExtents& extents, const RotateArrays<T>& arrays);

}  // namespace zero::kernels
