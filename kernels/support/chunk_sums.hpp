#pragma once
/// The halves of a sum of columns, for kernels that need one of them: chunks of rows add, and their
/// sums add along a tree.

#include <cstdint>

#include "zero/device/stream.hpp"

namespace zero::kernels {

/// A matrix [rows, columns] with `ld` elements from row to row.
template <class T>
struct StridedRows {
  int64_t rows, columns, ld;
  const T* x;
};

/// Writes the fp32 sums of the rows of each of RowChunks{x.rows}. partial [chunks, columns].
/// Asynchronous on `stream`.
template <class T>
void add_row_chunks(Stream& stream, const StridedRows<T>& x, float* partial);

/// Writes out[j] = T(sum over c of partial[c, j]), in fp32 along a balanced tree. Overwrites
/// `partial` [chunks, columns]; at most 1024 chunks on a GPU. out [columns], which may be the first
/// chunk's sums. Asynchronous on `stream`.
template <class T>
void add_chunk_sums(Stream& stream, int64_t chunks, int64_t columns, float* partial, T* out);

}  // namespace zero::kernels
