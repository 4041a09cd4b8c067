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
  float scale = 1;     ///< of a token's row
};

template <class T>
struct EmbeddingTables {
  const int32_t* tokens;
  const T* token_table;
  const T* position_table;  ///< or null
};

/// x[r] = scale token_table[tokens[r]] + position_table[r % length], rounded once.
///
///   tokens [samples * length] int32, each in [0, vocabulary): the loader has checked them
///   token_table [vocabulary, width]   position_table [length or more, width], or null
///   x [samples * length, width], written
///
/// Asynchronous on `stream`.
template <class T>
void embedding(Stream& stream, const EmbeddingExtents& extents, const int32_t* tokens,
               const T* token_table, const T* position_table, T* x);

/// Embeds one sample whose rows are at positions of their own; rows from inputs->rows on are zero.
/// Asynchronous on `stream`.
///
///   tokens [length]   rows [length]   position_table [more than every position, width], or null
template <class T>
void embedding_at(Stream& stream, const EmbeddingExtents& extents, const DecodeInputs* inputs,
                  const ChunkRow* rows, const EmbeddingTables<T>& tables, T* x);

/// int32 elements of scratch that embedding_backward wants.
int64_t embedding_scratch_numel(const EmbeddingExtents& extents);

template <class T>
struct EmbeddingGradArrays {
  const int32_t* tokens;  ///< [samples * length]; null without dtoken_table
  const T* dx;            ///< [samples * length, width]
  T* dtoken_table;        ///< [vocabulary, width], updated, or with `first` written; or null
  T* dposition_table;     ///< [length, width], written; or null
  int32_t* scratch;       ///< null without dtoken_table
  bool first = false;     ///< nobody has written dtoken_table: rows of no token become zero
};

/// Adds each token's gradients, summed in fp32 in row order, times `scale` to its row of
/// dtoken_table (one rounding), and sums positions over samples. Deterministic, no atomics: rows
/// are sorted by token, stably. Asynchronous on `stream`.
template <class T>
void embedding_backward(Stream& stream, const EmbeddingExtents& extents,
                        const EmbeddingGradArrays<T>& arrays);

}  // namespace zero::kernels
