#include <algorithm>
#include <cmath>

#include "kernels/support/host_threads.hpp"
#include "kernels/vendor/cached_extents.hpp"
#include "kernels/vendor/host/attention.hpp"
#include "kernels/vendor/host/panel.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

static_assert(cache_columns(1) == kPanelColumns);

struct RowScratch {
  float* query;   ///< [head_width]
  float* scores;  ///< from the first panel on that a row sees, which may begin before its keys

  RowScratch(const CachedAttentionExtents& extents, Slice& slice)
      : query(slice.take<float>(extents.head_width)),
        scores(
            slice.take<float>(extents.columns + (extents.is_ring ? kPanelColumns : int64_t(0)))) {}
};

int64_t slice_bytes(const CachedAttentionExtents& extents) {
  Slice slice(nullptr);
  RowScratch(extents, slice);
  return slice.bytes();
}

/// The keys [begin, count) that a row attends to.
struct SeenKeys {
  int64_t cache, count;
  int64_t begin = 0;

  /// Returns the panel that holds the first of them.
  int64_t first_panel() const { return begin / kPanelColumns * kPanelColumns; }
};

SeenKeys seen_by(const CachedAttentionExtents& extents, const ChunkRow& row) {
  if (extents.keys == CachedKeys::source) return {row.source, row.source_keys};
  if (extents.keys == CachedKeys::all) return {row.text, row.source_keys};
  const int64_t count = int64_t(row.position) + 1;
  return {row.text, count, extents.window > 0 ? std::max<int64_t>(count - extents.window, 0) : 0};
}

/// A head of the chunk. Panels of keys lie transposed, so scores, like the sums of values, are
/// multiples of rows: no sum runs across a vector.
template <class T>
struct CachedHead {
  CachedAttentionExtents extents;
  CachedAttentionArrays<T> arrays;
  RowScratch scratch;
  int64_t head, key_head;

  int64_t first() const { return head * extents.head_width; }
  int64_t first_key() const { return key_head * extents.head_width; }
  T* keys(int64_t cache) const {
    return arrays.cache + (2 * extents.key_width() * cache + first_key()) * extents.columns;
  }
  T* values(int64_t cache) const { return keys(cache) + extents.key_width() * extents.columns; }
  T* out(int64_t row) const { return arrays.y + row * extents.width() + first(); }
  float divisor() const {
    return extents.divide_by > 0 ? extents.divide_by : std::sqrt(float(extents.head_width));
  }

  void move(const CacheMove& move) const {
    const int64_t d = extents.head_width;
    const T* const from = keys(move.from);
    T* const to = keys(move.to);
    const T* const from_value = values(move.from);
    T* const to_value = values(move.to);
    const int64_t begin = std::max<int64_t>(move.begin, move.end - extents.columns);
    for (int64_t position = begin; position < move.end; ++position) {
      const int64_t place = extents.column_of(position), column = place % kPanelColumns;
      const int64_t panel = (place - column) * d + column;
      for (int64_t i = 0; i < d; ++i)
        to[panel + i * kPanelColumns] = from[panel + i * kPanelColumns];
      std::copy_n(from_value + place * d, d, to_value + place * d);
    }
  }

  void store(int64_t row) const {
    const int64_t d = extents.head_width, place = extents.column_of(arrays.rows[row].position);
    const int64_t column = place % kPanelColumns, text = arrays.rows[row].text;
    const T* const key = arrays.stored.keys + row * arrays.stored.stride + first_key();
    const T* const value = arrays.stored.values + row * arrays.stored.stride + first_key();
    T* const panel = keys(text) + (place - column) * d;
    for (int64_t i = 0; i < d; ++i) panel[i * kPanelColumns + column] = key[i];
    std::copy(value, value + d, values(text) + place * d);
  }

  void attend(int64_t row) const {
    const SeenKeys seen = seen_by(extents, arrays.rows[row]);
    // Scores count from the first panel on.
    const int64_t begin = seen.begin - seen.first_panel(), end = seen.count - seen.first_panel();
    const int64_t padded = round_up(end, kRowLanes);
    float* const scores = scratch.scores;
    write_scores(row, seen);
    float log2_scale = kLog2E / divisor();
    if (extents.cap > 0.0f) {
      cap_scores(ScoreCap(extents.cap, divisor()), padded, scores);
      log2_scale = kLog2E;
    }
    if (extents.reach > 0) {
      add_bias(row, seen, extents.cap > 0.0f ? 1.0f : 1.0f / divisor());
      log2_scale = kLog2E;
    }
    std::fill(scores, scores + begin, kMinusInfinity);
    std::fill(scores + end, scores + padded, kMinusInfinity);
    const float shift = log2_scale * maximum_of(scores, padded);
    const float sum = exponentials(scores, padded, log2_scale, shift, scores);
    write_values(row, seen, 1.0f / sum);
  }

  /// Writes q . k of the keys that are seen, in whole panels, and so of others beside them.
  void write_scores(int64_t row, const SeenKeys& seen) const {
    const int64_t d = extents.head_width;
    const T* const query = arrays.q + row * arrays.q_stride + first();
    for (int64_t i = 0; i < d; ++i) scratch.query[i] = float(query[i]);
    const int64_t panel = seen.first_panel();
    for (int64_t token = panel; token < seen.count; token += kPanelColumns)
      multiply_panel<1, T>(
          {keys(seen.cache) + extents.column_of(token) * d, d, kPanelColumns, kPanelColumns}, 1,
          scratch.query, scratch.scores + token - panel);
  }

  void add_bias(int64_t row, const SeenKeys& seen, float factor) const {
    const float* const bias = arrays.bias + head * (2 * extents.reach - 1) + extents.reach - 1 -
                              arrays.rows[row].position + seen.first_panel();
    for (int64_t j = 0; j < seen.count - seen.first_panel(); ++j)
      scratch.scores[j] = std::fma(factor, scratch.scores[j], bias[j]);
  }

  void write_values(int64_t row, const SeenKeys& seen, float factor) const {
    const int64_t d = extents.head_width, place = extents.column_of(seen.begin);
    const int64_t count = seen.count - seen.begin, until = std::min(count, extents.columns - place);
    const float* const weights = scratch.scores + seen.begin - seen.first_panel();
    for (int64_t column = 0; column < d; column += kPanelColumns) {
      const int64_t columns = std::min(kPanelColumns, d - column);
      float sums[kPanelColumns];
      const T* const first = values(seen.cache) + column;
      multiply_panel<1, T>({first + place * d, until, d, columns}, 1, weights, sums);
      if (until < count)
        multiply_panel<1, T>({first, count - until, d, columns, true}, 1, weights + until, sums);
      scatter_rows({1, columns, columns}, factor, sums, out(row) + column);
    }
  }
};

bool is_within(int64_t index, int64_t count) { return index >= 0 && index < count; }

void require_room(const CachedAttentionExtents& extents, const ChunkRow& row) {
  const SeenKeys seen = seen_by(extents, row);
  ZERO_REQUIRE(
      row.position >= 0 && seen.count >= 1 && (extents.is_ring || seen.count <= extents.columns),
      "position ", row.position, " among ", seen.count, " keys in a cache of ", extents.columns);
  const bool stores = extents.keys != CachedKeys::source && !extents.is_ring;
  ZERO_REQUIRE(is_within(seen.cache, extents.caches) && (!stores || row.position < extents.columns),
               "cache ", seen.cache, " of ", extents.caches, ", position ", row.position, " of ",
               extents.columns);
  ZERO_REQUIRE(extents.reach == 0 || (row.position < extents.reach && seen.count <= extents.reach),
               "position ", row.position, " and ", seen.count, " keys under a bias of ",
               extents.reach);
}

void require_room(const CachedAttentionExtents& extents, const CacheMove& move) {
  const bool exists = is_within(move.from, extents.caches) && is_within(move.to, extents.caches);
  ZERO_REQUIRE(exists && move.begin >= 0 && (extents.is_ring || move.end <= extents.columns),
               "tokens ", move.begin, " to ", move.end, " of cache ", move.from, " go to cache ",
               move.to, " of ", extents.caches, " with ", extents.columns, " columns");
}

template <class T>
void require_room(const CachedAttentionExtents& extents, const DecodeInputs& inputs,
                  const CachedAttentionArrays<T>& arrays) {
  ZERO_REQUIRE(inputs.rows >= 0 && inputs.rows <= extents.rows, inputs.rows,
               " tokens in a chunk of ", extents.rows);
  require_fit(extents);
  for (int64_t row = 0; row < inputs.rows; ++row) require_room(extents, arrays.rows[row]);
  if (arrays.moves == nullptr) return;
  for (int64_t i = 0; i < inputs.moves; ++i) require_room(extents, arrays.moves[i]);
}

}  // namespace
}  // namespace vendor

int64_t cached_attention_scratch_bytes(const CachedAttentionExtents& extents, int threads) {
  return threads * vendor::slice_bytes(extents);
}

template <class T>
void cached_attention(Stream& stream, const CachedAttentionExtents& extents,
                      const DecodeInputs* inputs, const CachedAttentionArrays<T>& arrays) {
  vendor::require_room(extents, *inputs, arrays);
  const int64_t bytes = vendor::slice_bytes(extents), group = extents.queries_of_key();
  const int64_t moves = arrays.moves == nullptr ? 0 : inputs->moves;
  const int64_t stored = arrays.stored.keys == nullptr ? 0 : inputs->rows;
  on_threads(stream.threads(), extents.heads_of_keys(), [&](int thread, int64_t item) {
    vendor::Slice slice(static_cast<std::byte*>(arrays.scratch) + thread * bytes);
    vendor::CachedHead<T> head{extents, arrays, vendor::RowScratch(extents, slice), 0, item};
    for (int64_t i = 0; i < moves; ++i) head.move(arrays.moves[i]);
    for (int64_t row = 0; row < stored; ++row) head.store(row);
    for (head.head = item * group; head.head < (item + 1) * group; ++head.head) {
      for (int64_t row = 0; row < inputs->rows; ++row) head.attend(row);
      for (int64_t row = inputs->rows; row < extents.rows; ++row)
        std::fill_n(head.out(row), extents.head_width, T(0.0f));
    }
  });
}

template <class T>
void store_keys(Stream& stream, const CachedAttentionExtents& extents, const DecodeInputs* inputs,
                const CachedAttentionArrays<T>& arrays) {
  vendor::require_room(extents, *inputs, arrays);
  on_threads(stream.threads(), extents.heads_of_keys(), [&](int, int64_t item) {
    vendor::Slice none(nullptr);
    const vendor::CachedHead<T> head{extents, arrays, vendor::RowScratch(extents, none), 0, item};
    for (int64_t row = 0; row < inputs->rows; ++row) head.store(row);
  });
}

template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<float>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<bf16>&);
template void cached_attention(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                               const CachedAttentionArrays<f16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<float>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<bf16>&);
template void store_keys(Stream&, const CachedAttentionExtents&, const DecodeInputs*,
                         const CachedAttentionArrays<f16>&);

}  // namespace zero::kernels
