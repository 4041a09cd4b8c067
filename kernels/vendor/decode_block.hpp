#pragma once
/// Attention with caches and products of few rows on a GPU, to continue texts. Functors over
/// elements, and over rows of a team (kernels/support/rows.hpp), so the host can test them.

#include <cmath>

#include "kernels/support/math.hpp"
#include "kernels/support/row_chunks.hpp"
#include "kernels/support/tanh.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels::vendor {

inline constexpr int64_t kCachePanel = 64;
static_assert(cache_columns(1) == kCachePanel);

/// The caches of a chunk, and the places of elements in them.
template <class T>
struct KeyCache {
  CachedAttentionExtents extents;
  const DecodeInputs* inputs;
  CachedAttentionArrays<T> arrays;

  /// Returns the width of all keys of a token.
  ZERO_HOST_DEVICE int64_t width() const { return extents.key_width(); }
  /// Returns the place of element j of a key of a head of keys; value_at(), of its value.
  ZERO_HOST_DEVICE int64_t key_at(int64_t cache, int64_t head, int64_t position, int64_t j) const {
    const int64_t place = extents.column_of(position), column = place % kCachePanel;
    return (2 * width() * cache + head * extents.head_width) * extents.columns +
           (place - column) * extents.head_width + j * kCachePanel + column;
  }
  ZERO_HOST_DEVICE int64_t value_at(int64_t cache, int64_t head, int64_t position,
                                    int64_t j) const {
    return width() * (2 * cache + 1) * extents.columns +
           (head * extents.columns + extents.column_of(position)) * extents.head_width + j;
  }
  ZERO_HOST_DEVICE bool has(int64_t cache, int64_t position) const {
    return cache >= 0 && cache < extents.caches && position >= 0 &&
           (extents.is_ring || position < extents.columns);
  }
};

/// The moves of a chunk, one a row, at most as many as caches. Leaves out moves that do not fit,
/// because the host may not look at what a device reads.
template <class T>
struct MoveTokens {
  KeyCache<T> cache;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t item) const {
    if (item >= cache.inputs->moves) return;
    const CacheMove move = cache.arrays.moves[item];
    if (!cache.has(move.from, move.begin) || !cache.has(move.to, move.end - 1)) return;
    const int64_t width = cache.width(), d = cache.extents.head_width;
    const int64_t kept = move.end - cache.extents.columns,
                  begin = move.begin < kept ? kept : int64_t(move.begin);
    const KeyCache<T> own = cache;
    row.for_each((move.end - begin) * width, [=](int64_t i) {
      const int64_t position = begin + i / width, head = i % width / d, j = i % d;
      T* const to = own.arrays.cache;
      to[own.key_at(move.to, head, position, j)] = to[own.key_at(move.from, head, position, j)];
      to[own.value_at(move.to, head, position, j)] = to[own.value_at(move.from, head, position, j)];
    });
  }
};

/// A copy of element i of the new keys and values, [rows, width], to the caches.
template <class T>
struct StoreTokens {
  KeyCache<T> cache;

  ZERO_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t width = cache.width(), row = i / width, element = i % width;
    if (row >= cache.inputs->rows) return;
    const ChunkRow place = cache.arrays.rows[row];
    if (!cache.has(place.text, place.position)) return;
    const int64_t head = element / cache.extents.head_width, j = element % cache.extents.head_width;
    const int64_t from = row * cache.arrays.stored.stride + element;
    T* const to = cache.arrays.cache;
    to[cache.key_at(place.text, head, place.position, j)] = cache.arrays.stored.keys[from];
    to[cache.value_at(place.text, head, place.position, j)] = cache.arrays.stored.values[from];
  }
};

/// The attention of one head of a row, which has one team. Scores lie in the scratch, [rows, heads,
/// columns].
template <class T>
struct AttendToTokens {
  KeyCache<T> cache;
  float divisor;

  explicit AttendToTokens(const KeyCache<T>& of)
      : cache(of),
        divisor(of.extents.divide_by > 0 ? of.extents.divide_by
                                         : std::sqrt(float(of.extents.head_width))) {}

  /// The keys [begin, count) that a row attends to.
  struct Seen {
    int64_t cache, count, begin;
  };
  ZERO_HOST_DEVICE Seen seen_by(const ChunkRow& row) const {
    const CachedKeys keys = cache.extents.keys;
    const int64_t window = cache.extents.window;
    const int64_t count = keys == CachedKeys::past ? row.position + 1 : row.source_keys;
    const int64_t most = cache.extents.is_ring ? count : cache.extents.columns;
    return {keys == CachedKeys::source ? row.source : row.text, least(count, most),
            window > 0 && window < count ? count - window : 0};
  }

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t item) const {
    const CachedAttentionExtents& extents = cache.extents;
    const int64_t r = item / extents.heads, head = item % extents.heads, d = extents.head_width;
    T* const y = cache.arrays.y + r * extents.width() + head * d;
    const bool is_token = r < cache.inputs->rows;
    const ChunkRow place = is_token ? cache.arrays.rows[r] : ChunkRow{-1, 0};
    const Seen seen = seen_by(place);
    if (!is_token || seen.count < 1 || !cache.has(seen.cache, 0)) {
      row.for_each(d, [=](int64_t j) { y[j] = T(0.0f); });
      return;
    }
    // Scores of a ring begin with its first key, as no more than its columns are seen.
    float* const scratch = static_cast<float*>(cache.arrays.scratch) + item * extents.columns;
    const int64_t key_head = head / extents.queries_of_key(), keys = seen.count - seen.begin;
    float* const first = extents.is_ring ? scratch : scratch + seen.begin;
    write_scores(row, {r, head, place.position}, seen, first);
    row.barrier();
    const float most = row.maximum(keys, [=](int64_t i) { return first[i]; });
    const float sum = row.template sum<float>(keys, [=](int64_t i) {
      first[i] = exp_f32(first[i] - most);
      return first[i];
    });
    row.barrier();
    const KeyCache<T> own = cache;
    row.for_each(d, [=](int64_t j) {
      float total = 0.0f;
      for (int64_t token = seen.begin; token < seen.count; ++token)
        total =
            std::fma(first[token - seen.begin],
                     float(own.arrays.cache[own.value_at(seen.cache, key_head, token, j)]), total);
      y[j] = T(total / sum);
    });
  }

  struct Query {
    int64_t row, head, position;
  };
  template <class RowOf>
  ZERO_HOST_DEVICE void write_scores(const RowOf& row, const Query& of, const Seen& seen,
                                     float* first) const {
    const KeyCache<T> own = cache;
    const int64_t d = own.extents.head_width, reach = own.extents.reach;
    const T* const query = own.arrays.q + of.row * own.arrays.q_stride + of.head * d;
    const ScoreCap cap(own.extents.cap, divisor);
    const float scale = cap.acts() ? 1.0f : 1.0f / divisor;
    const int64_t key_head = of.head / own.extents.queries_of_key();
    row.for_each(seen.count - seen.begin, [=](int64_t i) {
      const int64_t token = seen.begin + i;
      float dot = 0.0f;
      for (int64_t j = 0; j < d; ++j)
        dot = std::fma(float(query[j]),
                       float(own.arrays.cache[own.key_at(seen.cache, key_head, token, j)]), dot);
      if (cap.acts()) dot = cap(dot);
      const int64_t distance = token - of.position + reach - 1;
      const bool biased = distance >= 0 && distance < 2 * reach - 1;
      const float bias = biased ? own.arrays.bias[of.head * (2 * reach - 1) + distance] : 0.0f;
      first[i] = biased ? std::fma(dot, scale, bias) : dot * scale;
    });
  }
};

/// A product of few rows, element i of y. Neighbours read neighbouring columns of a panel. The sum
/// has the host's order, one fused step each.
template <class T>
struct RowProduct {
  RowProductExtents extents;
  RowProductArrays<T> arrays;

  ZERO_HOST_DEVICE void operator()(int64_t i) const {
    constexpr int64_t kColumns = WeightPanels::kColumns;
    const int64_t row = i / extents.out, column = i % extents.out;
    const int64_t first = column / kColumns * kColumns,
                  columns = least(kColumns, extents.out - first);
    const T* const x = arrays.x + row * extents.in;
    const T* const weight = arrays.weight + first * extents.in + column - first;
    float sum = 0.0f;
    for (int64_t k = 0; k < extents.in; ++k)
      sum = std::fma(float(x[k]), float(weight[k * columns]), sum);
    arrays.y[i] = T(arrays.bias == nullptr ? sum : float(arrays.bias[column]) + sum);
  }
};

/// The scores of class c, row c of the launch, for all wanted rows of x.
template <class T>
struct TableProduct {
  int64_t classes, width;
  const DecodeInputs* inputs;
  TableProductArrays<T> arrays;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t c) const {
    const T* const class_row = arrays.table + c * width;
    for (int64_t wanted = 0; wanted < inputs->logits; ++wanted) {
      const T* const values = arrays.x + arrays.rows[wanted] * width;
      const float sum = row.template sum<float>(
          width, [=](int64_t i) { return float(values[i]) * float(class_row[i]); });
      float* const out = arrays.y + wanted * classes + c;
      row.once([=] { *out = sum; });
    }
  }
};

}  // namespace zero::kernels::vendor
