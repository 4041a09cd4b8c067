#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

struct EmbeddingExtents {
  int64_t samples;
  int64_t length;  ///< tokens of a sample; row r is at position r % length
  int64_t width;
  int64_t vocabulary;  ///< rows of the table, padding included
  float scale = 1;     ///< factor of a token's row
  int64_t still = -1;  ///< token whose row gets no gradient; -1: none
};

template <class T>
struct EmbeddingTables {
  const int32_t* tokens;
  const T* token_table;
  const T* position_table;  ///< or null
};

/// Writes x[r] = scale token_table[tokens[r]] + position_table[r % length], rounded once.
///
///   tokens [samples * length] int32
///   token_table [vocabulary, width]   position_table [length or more, width], or null
///   x [samples * length, width], written
///
/// REQUIRES: every token is in [0, vocabulary), as the loader checks. Asynchronous on `stream`.
template <class T>
void embedding(Stream& stream, const EmbeddingExtents& extents, const int32_t* tokens,
               const T* token_table, const T* position_table, T* x);

/// Writes x as embedding() does for a chunk of tokens, each row at its own rows[r].position. Writes
/// zeros to rows from inputs->rows on. Asynchronous on `stream`.
///
///   tokens [length]   rows [length]   x [length, width], written
///   position_table [more than every position, width], or null
template <class T>
void embedding_at(Stream& stream, const EmbeddingExtents& extents, const DecodeInputs* inputs,
                  const ChunkRow* rows, const EmbeddingTables<T>& tables, T* x);

/// Returns the int32 elements of scratch that embedding_backward() needs for these extents.
int64_t embedding_scratch_numel(const EmbeddingExtents& extents);

template <class T>
struct EmbeddingGradArrays {
  const int32_t* tokens;  ///< [samples * length]; null without dtoken_table
  const T* dx;            ///< [samples * length, width]
  T* dtoken_table;        ///< [vocabulary, width], added to, or with `first` written; or null
  T* dposition_table;     ///< [length, width], written; or null
  int32_t* scratch;       ///< [embedding_scratch_numel()]; null without dtoken_table
  bool first = false;  ///< true: dtoken_table holds nothing yet, so rows without a token become 0
};

/// Writes the gradients of embedding() for both tables. Adds extents.scale times the summed dx of
/// each token to its row of dtoken_table, rounded once. Sums are fp32, in row order. Writes
/// dposition_table, the sums over samples. Deterministic without atomics, because rows are sorted
/// by token, stably. The row of extents.still gets none, as with PyTorch's padding_idx.
/// Asynchronous on `stream`.
template <class T>
void embedding_backward(Stream& stream, const EmbeddingExtents& extents,
                        const EmbeddingGradArrays<T>& arrays);

}  // namespace zero::kernels
