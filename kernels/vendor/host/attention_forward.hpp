#pragma once
/// The forward pass of attention on the host: tiles of scores with an online softmax. A file gives
/// the terms that scores have beside the product of queries and keys.

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/math.hpp"
#include "kernels/vendor/host/attention.hpp"

namespace zero::kernels::vendor {

/// Keys of a tile: a tile of scores in fp32 and one of probabilities share a 1 MiB cache.
inline constexpr int64_t kForwardKeys = 512;

template <class C>
struct ForwardScratch {
  C* q;              ///< [length, head_width]
  C *k, *v;          ///< [keys, head_width], zeros for padding
  float* scores;     ///< [kQueries, pitch_of(tile)]
  C* probabilities;  ///< as scores, not yet divided by the row's sum
  float* y;          ///< [kQueries, head_width]

  ForwardScratch(const AttentionExtents& extents, Slice& slice) {
    q = slice.take<C>(extents.length * extents.head_width);
    k = slice.take<C>(extents.key_length() * extents.head_width);
    v = slice.take<C>(extents.key_length() * extents.head_width);
    scores = slice.take<float>(kQueries * kForwardKeys);
    if constexpr (std::is_same_v<C, float>)  // in place: a tile less of cache
      probabilities = scores;
    else
      probabilities = slice.take<C>(kQueries * kForwardKeys);
    y = slice.take<float>(kQueries * extents.head_width);
  }
};

/// Returns the elements from one query's row of a tile to the next: whole lanes of keys.
inline int64_t pitch_of(const Tile& tile) { return round_up(tile.keys, kRowLanes); }

/// The online softmax of one query.
struct OnlineSoftmax {
  float maximum = kMinusInfinity;
  float sum = 0.0f;
};

/// A head. Terms adds to scores: to a tile when its product is made, and to a row at its softmax.
template <class T, class C, class Terms>
struct ForwardHead {
  Head head;
  AttentionArrays<T> arrays;
  ForwardScratch<C> scratch;
  HeadMask mask;
  Terms terms;
  bool dropout;
  float log2_scale;  ///< log2(e) / divisor_after_cap()
  OnlineSoftmax rows[kQueries];
  ScoreCap cap = {};
};

/// Zeroes the dropped elements of a row of whole lanes of four keys.
inline void drop_row(const HeadMask& mask, int64_t query, int64_t key, int64_t keys, float* row) {
  constexpr int64_t kKeysAtOnce = 4 * WordLanes::kLanes;
  for (int64_t first = 0; first < keys; first += kKeysAtOnce) {
    const WordLanes words = mask.words_of_keys(query, (key + first) / 4);
    const int64_t quads = ceil_div<int64_t>(std::min(kKeysAtOnce, keys - first), 4);
    float* part = row + first;
    for (int64_t l = 0; l < quads; ++l)
      for (int i = 0; i < 4; ++i)
        part[4 * l + i] = words.word[i][l] >= mask.threshold ? part[4 * l + i] : 0.0f;
  }
}

/// Turns one row of scores into exponentials. Returns the factor that brings this query's earlier
/// sums to the new maximum.
template <class T, class C, class Terms>
float softmax_row(ForwardHead<T, C, Terms>& work, const Tile& tile, int64_t i) {
  const int64_t pitch = pitch_of(tile);
  float* const scores = work.scratch.scores + i * pitch;
  C* const probabilities = work.scratch.probabilities + i * pitch;
  const Interval seen = work.head.seen_keys(tile, i);
  if (seen.begin == seen.end) {
    std::fill_n(probabilities, pitch, C(0.0f));
    return 1.0f;
  }
  const int64_t lead = seen.begin / kRowLanes * kRowLanes, count = seen.end - lead;
  const int64_t padded = round_up(count, kRowLanes);
  float* const row = scores + lead;
  C* const out = probabilities + lead;
  if (work.cap.acts()) cap_scores(work.cap, padded, row);
  work.terms.add_to_row(work.head, tile, i, scores);
  std::fill(row, scores + seen.begin, kMinusInfinity);

  OnlineSoftmax& state = work.rows[i];
  const float maximum = std::max(state.maximum, maximum_of(row, count));
  const float shift = work.log2_scale * maximum;
  const float rescale =
      tile.is_first() ? 0.0f : exp2_f32(std::fma(work.log2_scale, state.maximum, -shift));
  float sum;
  if (work.dropout) {
    sum = exponentials(row, count, work.log2_scale, shift, row);
    drop_row(work.mask, tile.query + i, tile.key + lead, count, row);
    for (int64_t j = 0; j < padded; ++j) assign(out[j], row[j]);
  } else {
    sum = exponentials(row, count, work.log2_scale, shift, out);
  }
  state = {maximum, state.sum * rescale + sum};
  std::fill(probabilities, out, C(0.0f));
  std::fill(out + padded, probabilities + pitch, C(0.0f));
  return rescale;
}

inline GemmSpec scores_spec(const Tile& tile, int64_t d, Dtype compute) {
  GemmSpec spec =
      tile_spec({.m = tile.queries, .n = tile.keys, .k = d, .transpose_b = true}, compute);
  spec.ldc = pitch_of(tile);
  return spec;
}

inline GemmSpec values_spec(const Tile& tile, int64_t d, Dtype compute) {
  GemmSpec spec = tile_spec(
      {.m = tile.queries, .n = d, .k = tile.keys, .accumulate = !tile.is_first()}, compute);
  spec.lda = pitch_of(tile);
  return spec;
}

template <class T, class C, class Terms>
void attend_tile(ForwardHead<T, C, Terms>& work, const Tile& tile) {
  const ForwardScratch<C>& s = work.scratch;
  const int64_t d = work.head.extents.head_width;
  constexpr Dtype kCompute = dtype_of<C>();
  multiply(scores_spec(tile, d, kCompute), s.q + tile.query * d, s.k + tile.key * d, s.scores);
  work.terms.add_to_tile(tile, pitch_of(tile), s.scores);
  for (int64_t i = 0; i < tile.queries; ++i) {
    const float rescale = softmax_row(work, tile, i);
    if (tile.is_first()) continue;
    for (int64_t j = 0; j < d; ++j) s.y[i * d + j] *= rescale;
  }
  multiply(values_spec(tile, d, kCompute), s.probabilities, s.v + tile.key * d, s.y);
}

/// Writes zeros for queries: padding, or those that see no key.
template <class T>
void clear_queries(const Head& head, const Interval& queries, const AttentionArrays<T>& arrays) {
  const int64_t width = head.extents.inner_width(), count = queries.end - queries.begin;
  zero_rows({count, head.extents.head_width, width},
            arrays.y + head.of_queries(width) + queries.begin * width);
  std::fill_n(arrays.logsumexp + head.first_row() + queries.begin, count, 0.0f);
}

template <class T, class C, class Terms>
void attend_queries(ForwardHead<T, C, Terms>& work, int64_t query) {
  const Head& head = work.head;
  const int64_t d = head.extents.head_width, width = head.extents.inner_width();
  const int64_t queries = std::min(kQueries, head.queries - query);
  std::fill_n(work.rows, std::min(kQueries, head.rows.queries - query), OnlineSoftmax{});
  work.terms.begin_queries(query, work.scratch.q + query * d);
  for_key_tiles(head.rows, head.tile_row(query), kForwardKeys,
                [&](const Tile& tile) { attend_tile(work, tile); });
  T* y = work.arrays.y + head.of_queries(width) + query * width;
  float* logsumexp = work.arrays.logsumexp + head.first_row() + query;
  for (int64_t i = 0; i < queries; ++i)
    logsumexp[i] = work.log2_scale * kLn2 * work.rows[i].maximum + log_f32(work.rows[i].sum);
  for (int64_t i = 0; i < queries; ++i)
    scatter_rows({1, d, width}, work.mask.multiplier / work.rows[i].sum, work.scratch.y + i * d,
                 y + i * width);
  // The window of a query behind its text's last key may have none.
  for (int64_t i = 0; i < queries; ++i)
    if (work.rows[i].sum == 0.0f) clear_queries(head, {query + i, query + i + 1}, work.arrays);
}

template <class T, class C, class Terms>
void attend_head(ForwardHead<T, C, Terms>& work) {
  const Head& head = work.head;
  if (head.keys == 0) return clear_queries(head, {0, head.extents.length}, work.arrays);
  gather_head_queries(head, work.arrays.in, work.scratch);
  gather_keys(head, work.arrays.in, work.scratch);
  work.terms.begin_head(work.scratch.k);
  for (int64_t query = 0; query < head.queries; query += kQueries) attend_queries(work, query);
  clear_queries(head, {head.queries, head.extents.length}, work.arrays);
}

}  // namespace zero::kernels::vendor
