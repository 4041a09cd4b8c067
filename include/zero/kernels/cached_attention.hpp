#pragma once

#include <cstdint>

#include "zero/base/align.hpp"
#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Tokens that a cache of `context` has room for: whole panels of keys.
constexpr int64_t cache_columns(int64_t context) { return round_up<int64_t>(context, 64); }

struct CachedAttentionExtents {
  int64_t rows;  ///< new tokens, padding included
  int64_t heads;
  int64_t head_width;  ///< width = heads * head_width
  int64_t columns;     ///< cache_columns(context)
};

/// Bytes of scratch that cached_attention() wants, for `threads` threads.
int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int threads);

template <class T>
struct CachedAttentionArrays {
  const T* qkv;  ///< [rows, 3 * width]: q, k, v side by side, heads inside each
  /// Keys [heads, columns / 64, head_width, 64], then values [heads, columns, head_width].
  T* cache;
  T* y;  ///< [rows, width], written; zero where a row is padding
  void* scratch;
};

/// Stores the keys and values of rows 0 to inputs->rows - 1 at inputs->position and after it, then
/// attends from each of these rows over all tokens up to its own: softmax(q k^T / sqrt(head_width))
/// v. fp32 between load and store. A row's bits depend neither on the other rows nor on the
/// threads. Throws Error(kInternal) where the tokens do not fit the cache. Asynchronous on
/// `stream`. Source: Vaswani et al. 2017, eq. 1.
template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays);

}  // namespace zero::kernels
