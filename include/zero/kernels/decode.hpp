#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Tokens that a cache of `context` has room for: whole panels of keys.
constexpr int64_t cache_columns(int64_t context) { return round_up<int64_t>(context, 64); }

/// Which keys a row attends to.
enum class CachedKeys {
  past,   ///< those of its text up to its own, which is stored first
  all,    ///< source_keys of its text, of which the row's own is stored first
  source  ///< source_keys of its source; nothing is stored
};

struct CachedAttentionExtents {
  int64_t rows;  ///< new tokens, padding included
  int64_t heads;
  int64_t head_width;  ///< width = heads * head_width
  int64_t columns;     ///< of each cache: cache_columns(context)
  int64_t caches = 1;  ///< of texts, or of sources
  CachedKeys keys = CachedKeys::past;
  float divide_by = 0;  ///< scores; 0: the square root of head_width
  int64_t reach = 0;    ///< of a bias: distances below it have one; 0: there is none
};

/// Bytes of scratch that cached_attention() wants, for `threads` threads.
int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int threads);

/// Keys and values of new tokens, [rows, width] each; elements from one row to the next.
template <class T>
struct NewKeys {
  const T* keys = nullptr;
  const T* values = nullptr;
  int64_t stride = 0;
};

template <class T>
struct CachedAttentionArrays {
  const ChunkRow* rows;              ///< [rows], of which inputs->rows count
  const CacheMove* moves = nullptr;  ///< [inputs->moves], or null: none
  const T* q;                        ///< [rows, width], heads side by side
  int64_t q_stride;                  ///< elements from one row to the next
  NewKeys<T> stored = {};            ///< not with CachedKeys::source
  const float* bias = nullptr;       ///< [heads, 2 reach - 1]: of distance key - query + reach - 1
  /// [caches] keys [heads, columns / 64, head_width, 64], then values [heads, columns, head_width].
  T* cache;
  T* y;  ///< [rows, width], written; zero where a row is padding
  void* scratch;
};

/// Makes the moves, in which no text that is moved from is moved to. Stores the keys and values of
/// rows 0 to inputs->rows - 1 at their positions, of which no two are the same. Then attends from
/// each of these rows: softmax(q k^T / divide_by + bias) v. fp32 between load and store. A row's
/// bits depend neither on the other rows nor on the threads. Throws Error(kInternal) where a host
/// finds rows or moves beyond the caches; a device leaves them out. Asynchronous on `stream`.
/// Source: Vaswani et al. 2017, eq. 1.
template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays);

/// Stores keys and values of rows of sources, as CachedKeys::all does, and attends to nothing:
/// `rows`, `stored` and `cache` are read, each row's text being its source.
template <class T>
void store_keys(Stream& stream, const CachedAttentionExtents& extents, const DecodeInputs* inputs,
                const CachedAttentionArrays<T>& arrays);

struct RowProductExtents {
  int64_t rows;
  int64_t in;
  int64_t out;
};

template <class T>
struct RowProductArrays {
  const T* x;       ///< [rows, in]
  const T* weight;  ///< [in, out], in WeightPanels
  const T* bias;    ///< [out], or null
  T* y;             ///< [rows, out], written
  float* scratch;   ///< [row_product_scratch_numel(extents)]
};

/// fp32 elements of scratch that row_product() wants.
int64_t row_product_scratch_numel(const RowProductExtents& extents);

/// y = x weight + bias for few rows, where reading the weights is what takes the time. Each element
/// is the bias and one sum over `in` in order, in fp32, rounded once. Its bits depend neither on
/// the other rows nor on the threads, so tokens that are fed one at a time and in chunks give the
/// same numbers. Asynchronous on `stream`.
template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays);

template <class T>
struct TableProductArrays {
  const T* x;           ///< [rows, width]
  const int32_t* rows;  ///< [inputs->logits], of x
  const T* table;       ///< [classes, width]
  float* y;             ///< [inputs->logits, classes], written
};

/// y[i, j] = the fp32 sum over k of x[rows[i], k] table[j, k]: the scores of all classes for some
/// of the rows. A row's bits depend neither on the other rows nor on the threads. `inputs` lie
/// where the stream runs and are read when the work does. Asynchronous on `stream`.
template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays);

/// Where row_product() looks for the elements of a weight [in, out]: in panels of kColumns columns
/// one after the other, the last perhaps narrower, each [in, columns] row by row. A thread then
/// reads its panels from end to end and has the sums of a whole panel in registers of AVX-512.
struct WeightPanels {
  static constexpr int64_t kColumns = 64;

  int64_t in;
  int64_t out;

  int64_t count() const;
  int64_t columns(int64_t panel) const;
  /// Place of the panel's first element among all in * out.
  int64_t begin(int64_t panel) const { return panel * kColumns * in; }

  /// Copies to `part` those of elements [first, first + values.size()) of the weight, row by row,
  /// that lie in `panel`, in the order in which they lie there. Returns the place of the first of
  /// them.
  int64_t take(int64_t panel, int64_t first, std::span<const float> values,
               std::vector<float>& part) const;
};

}  // namespace zero::kernels
