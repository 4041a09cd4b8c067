#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zero/base/align.hpp"
#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Returns the number of tokens that fit into a cache for `context` tokens: whole panels of 64.
constexpr int64_t cache_columns(int64_t context) { return round_up<int64_t>(context, 64); }

/// The keys that a row attends to.
enum class CachedKeys {
  past,   ///< keys of its text up to its own, which is stored first
  all,    ///< source_keys of its text; the row's own is stored first
  source  ///< source_keys of its source; nothing is stored
};

struct CachedAttentionExtents {
  int64_t rows;  ///< new tokens, padding included
  int64_t heads;
  int64_t head_width;  ///< width = heads * head_width
  int64_t columns;     ///< columns of each cache: cache_columns(context)
  int64_t caches = 1;  ///< caches of texts, or of sources
  CachedKeys keys = CachedKeys::past;
  float divide_by = 0;    ///< divisor of scores; 0: the square root of head_width
  int64_t reach = 0;      ///< distances below it have a bias; 0: there is none
  int64_t key_heads = 0;  ///< heads of keys and of values, which divide `heads`; 0: as many
  int64_t window = 0;     ///< most keys of its past that a row sees, with its own; 0: all
  float cap = 0;          ///< limits divided scores s to cap tanh(s / cap); 0: no limit
  /// True: the cache is a ring, in which newer tokens take the columns of those that no row sees.
  /// It has at least window + rows - 1 columns.
  bool is_ring = false;

  /// Returns the column of the cache for the token at `position` of its text.
  ZERO_HOST_DEVICE constexpr int64_t column_of(int64_t position) const {
    return is_ring ? position % columns : position;
  }
  ZERO_HOST_DEVICE constexpr int64_t heads_of_keys() const {
    return key_heads > 0 ? key_heads : heads;
  }
  /// Returns the number of heads of queries that share a head of keys.
  ZERO_HOST_DEVICE constexpr int64_t queries_of_key() const { return heads / heads_of_keys(); }
  ZERO_HOST_DEVICE constexpr int64_t width() const { return heads * head_width; }
  /// Returns the elements of a token's keys over all heads. Its values have as many.
  ZERO_HOST_DEVICE constexpr int64_t key_width() const { return heads_of_keys() * head_width; }
};

/// Returns the bytes of scratch that cached_attention() needs for these extents with `threads`
/// threads.
int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int threads);

/// The keys and values of new tokens, [rows, key width] each, `stride` elements from row to row.
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
  NewKeys<T> stored = {};            ///< unused with CachedKeys::source
  const float* bias = nullptr;       ///< [heads, 2 reach - 1], read at key - query + reach - 1
  /// [caches] keys [key heads, columns / 64, head_width, 64], then values [key heads, columns,
  /// head_width].
  T* cache;
  T* y;  ///< [rows, width], written; zeros for padding
  void* scratch;
};

/// Makes the moves between caches, then stores the new keys and values of rows [0, inputs->rows) in
/// the caches of their texts. Then attends from each of these rows to its cache: y = softmax(q k^T
/// / divide_by + bias) v, in fp32 between load and store. A row's bits depend neither on the other
/// rows nor on the threads. Throws Error(kInternal) if a host finds rows or moves beyond the
/// caches; a device leaves them out. REQUIRES: no text is both moved from and moved to, and no two
/// rows of a text have the same position. Asynchronous on `stream`. Source: Vaswani et al. 2017,
/// eq. 1.
template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays);

/// Stores the new keys and values of rows of sources in the sources' caches, as CachedKeys::all
/// does. Attends to nothing. Uses only `rows`, `stored` and `cache`; a row's text is its source.
/// Asynchronous on `stream`.
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

/// Returns the fp32 elements of scratch that row_product() needs for these extents.
int64_t row_product_scratch_numel(const RowProductExtents& extents);

/// Writes y = x weight + bias for few rows, where reading the weights takes the time. Each element
/// is the bias and one fp32 sum over `in` in order, rounded once. Its bits depend neither on the
/// other rows nor on the threads. So tokens fed one at a time and in chunks give the same numbers.
/// Asynchronous on `stream`.
template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays);

template <class T>
struct TableProductArrays {
  const T* x;           ///< [rows, width]
  const int32_t* rows;  ///< [inputs->logits], rows of x
  const T* table;       ///< [classes, width]
  float* y;             ///< [inputs->logits, classes], written
};

/// Writes y[i, j] = the fp32 sum over k of x[rows[i], k] table[j, k]: the scores of all `classes`
/// for some rows of x, each of `width` elements. A row's bits depend neither on the other rows nor
/// on the threads. `inputs` lie where the stream runs, and the work reads them when it runs.
/// Asynchronous on `stream`.
template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays);

/// The layout of a weight [in, out] for row_product(): panels of kColumns columns one after the
/// other, each [in, columns] row by row. The last may be narrower. A thread reads panels from end
/// to end and holds the sums of one in registers of AVX-512.
struct WeightPanels {
  static constexpr int64_t kColumns = 64;

  int64_t in;
  int64_t out;

  /// Returns the number of panels.
  int64_t count() const;
  /// Returns the number of columns of panel number `panel`, from 0.
  int64_t columns(int64_t panel) const;
  /// Returns the place of a panel's first element among all in * out of this layout.
  int64_t begin(int64_t panel) const { return panel * kColumns * in; }

  /// Replaces `part` by those of `values` that belong to panel number `panel`, in its order.
  /// `values` are the elements of a weight from `first` on, row by row. Returns the place in this
  /// layout of the first one of `part`.
  int64_t take(int64_t panel, int64_t first, std::span<const float> values,
               std::vector<float>& part) const;
};

}  // namespace zero::kernels
