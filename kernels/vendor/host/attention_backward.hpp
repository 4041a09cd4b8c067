#pragma once
/// The gradient of attention on the host, tile by tile. A file gives the terms that scores have
/// beside the product of queries and keys, and their gradients.

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/support/math.hpp"
#include "kernels/vendor/host/attention.hpp"

namespace zero::kernels::vendor {

/// Keys of a tile: two tiles in fp32 and two in the compute type share a 1 MiB cache.
inline constexpr int64_t kBackwardKeys = 256;

/// The scratch of a thread. Tiles lie transposed, [keys, queries], so all products but one read
/// their large operand as it lies, and statistics of queries run along the rows.
template <class C>
struct BackwardScratch {
  C *q, *dy;              ///< [length, head_width]
  C *k, *v;               ///< [keys, head_width], zeros for padding
  float* dq;              ///< [length, head_width]
  float *dk, *dv;         ///< [keys, head_width]
  float* y_dot_dy;        ///< [length]
  float* log2_sum;        ///< [length], logsumexp in units of log 2
  float* log2_bias;       ///< [diagonals], in units of log 2 and from the last to the first
  float *scores, *dp;     ///< [kBackwardKeys, kQueries]
  C *probabilities, *ds;  ///< [kBackwardKeys, kQueries]

  BackwardScratch(const AttentionExtents& extents, Slice& slice) {
    const int64_t queries = extents.length * extents.head_width;
    const int64_t keys = extents.key_length() * extents.head_width;
    for (C** array : {&q, &dy}) *array = slice.take<C>(queries);
    for (C** array : {&k, &v}) *array = slice.take<C>(keys);
    dq = slice.take<float>(queries);
    for (float** array : {&dk, &dv}) *array = slice.take<float>(keys);
    y_dot_dy = slice.take<float>(extents.length);
    log2_sum = slice.take<float>(extents.length);
    log2_bias = slice.take<float>(extents.biased ? extents.diagonals() : 0);
    scores = slice.take<float>(kQueries * kBackwardKeys);
    dp = slice.take<float>(kQueries * kBackwardKeys);
    if constexpr (std::is_same_v<C, float>) {  // in place: a tile less of cache
      probabilities = scores;
      ds = dp;
    } else {
      probabilities = slice.take<C>(kQueries * kBackwardKeys);
      ds = slice.take<C>(kQueries * kBackwardKeys);
    }
  }
};

/// A head. Terms adds to scores, computes the rows of their gradient, and takes what it needs of
/// finished tiles.
template <class T, class C, class Terms>
struct BackwardHead {
  Head head;
  AttentionGradArrays<T> arrays;
  BackwardScratch<C> scratch;
  HeadMask mask;
  Terms terms;
  bool dropout;
  float scale;
  ScoreCap cap = {};
};

/// Writes multiplier[i][c] of key `key` + i and query tile.query + c: 0 or 1 / (1 - p).
inline void mask_four_keys(const HeadMask& mask, const Tile& tile, int64_t key,
                           float (&multiplier)[4][kQueries]) {
  for (int64_t c = 0; c < tile.queries; c += WordLanes::kLanes) {
    const WordLanes words = mask.words_of_queries(tile.query + c, key / 4);
    for (int i = 0; i < 4; ++i)
      for (int l = 0; l < WordLanes::kLanes; ++l)
        multiplier[i][c + l] = words.word[i][l] >= mask.threshold ? mask.multiplier : 0.0f;
  }
}

struct GradientRow {
  const float *scores, *dp;
  const float* shift;  ///< log2_sum minus the bias
  const float *y_dot_dy, *multiplier;
  float* unrounded;  ///< ds in fp32, before the cap's slope
  float log2_scale;
  ScoreCap cap = {};

  /// Returns the row from column `c` on.
  GradientRow from(int64_t c) const {
    GradientRow rest = *this;
    rest.scores += c, rest.dp += c, rest.shift += c, rest.y_dot_dy += c, rest.multiplier += c;
    return rest;
  }
};

struct Gradient {
  float probability, score;
};

template <bool kDropout>
Gradient gradient_of(const GradientRow& row, int64_t c) {
  const float p = exp2_f32(std::fma(row.log2_scale, row.scores[c], -row.shift[c]));
  const float kept = kDropout ? row.multiplier[c] : 1.0f;
  return {.probability = p * kept, .score = p * (row.dp[c] * kept - row.y_dot_dy[c])};
}

/// The terms that a row has beside its products. Rows without a term do not pay for it.
template <bool dropout, bool capped, bool unrounded>
struct RowKind {
  static constexpr bool kDropout = dropout, kCapped = capped, kUnrounded = unrounded;
};

/// Up to kRowLanes columns of a row.
struct GradientLanes {
  Lanes probability = {}, score = {}, before_cap = {};

  template <class Kind>
  void compute(const Kind&, const GradientRow& row, int64_t c, int64_t count) {
    for (int64_t l = 0; l < count; ++l) {
      const Gradient gradient = gradient_of<Kind::kDropout>(row, c + l);
      probability[l] = gradient.probability;
      score[l] = gradient.score;
      if constexpr (Kind::kUnrounded) before_cap[l] = gradient.score;
      if constexpr (Kind::kCapped) score[l] *= row.cap.slope(row.scores[c + l]);
    }
  }
};

template <class Kind, class C>
void gradient_row(const Kind& kind, const GradientRow& row, int64_t queries, C* probabilities,
                  C* ds) {
  int64_t c = 0;
  for (; c + kRowLanes <= queries; c += kRowLanes) {
    GradientLanes lanes;
    lanes.compute(kind, row, c, kRowLanes);
    assign_lanes(probabilities + c, lanes.probability);
    assign_lanes(ds + c, lanes.score);
    if constexpr (Kind::kUnrounded) std::copy_n(lanes.before_cap, kRowLanes, row.unrounded + c);
  }
  const int64_t rest = queries - c;
  if (rest == 0) return;
  GradientLanes lanes;
  lanes.compute(kind, row, c, rest);
  assign_lanes(probabilities + c, lanes.probability, rest);
  assign_lanes(ds + c, lanes.score, rest);
  if constexpr (Kind::kUnrounded) std::copy_n(lanes.before_cap, rest, row.unrounded + c);
}

template <bool kUnrounded, class C>
void gradient_row(bool dropout, const GradientRow& row, int64_t queries, C* probabilities, C* ds) {
  const auto compute = [&](const auto& kind) {
    gradient_row(kind, row, queries, probabilities, ds);
  };
  if (row.cap.acts())
    dropout ? compute(RowKind<true, true, kUnrounded>())
            : compute(RowKind<false, true, kUnrounded>());
  else
    dropout ? compute(RowKind<true, false, kUnrounded>())
            : compute(RowKind<false, false, kUnrounded>());
}

/// Writes the probabilities and the gradient of the scaled scores of one tile.
template <class T, class C, class Terms>
void gradient_tile(const BackwardHead<T, C, Terms>& work, const Tile& tile) {
  const BackwardScratch<C>& s = work.scratch;
  float multiplier[4][kQueries];
  for (int64_t r = 0; r < tile.keys; ++r) {
    if (work.dropout && r % 4 == 0) mask_four_keys(work.mask, tile, tile.key + r, multiplier);
    const int64_t at = r * tile.queries;
    const GradientRow row{.scores = s.scores + at,
                          .dp = s.dp + at,
                          .shift = s.log2_sum + tile.query,
                          .y_dot_dy = s.y_dot_dy + tile.query,
                          .multiplier = multiplier[r % 4],
                          .unrounded = nullptr,
                          .log2_scale = work.cap.acts() ? kLog2E : work.scale * kLog2E,
                          .cap = work.cap};
    work.terms.compute_row(work, tile, tile.key + r, row);
    const Interval seeing = work.head.seeing_queries(tile, tile.key + r);
    for (C* to : {s.probabilities + at, s.ds + at}) {
      std::fill(to, to + seeing.begin, C(0.0f));
      std::fill(to + seeing.end, to + tile.queries, C(0.0f));
    }
  }
}

/// The products of a tile: scores and gradient of probabilities, keys and values, queries.
struct TileSpecs {
  GemmSpec scores, keys, queries;

  TileSpecs(const Tile& tile, int64_t d, Dtype compute)
      : scores(
            tile_spec({.m = tile.keys, .n = tile.queries, .k = d, .transpose_b = true}, compute)),
        keys(tile_spec({.m = tile.keys, .n = d, .k = tile.queries, .accumulate = true}, compute)),
        queries(tile_spec(
            {.m = tile.queries, .n = d, .k = tile.keys, .transpose_a = true, .accumulate = true},
            compute)) {}
};

template <class T, class C, class Terms>
void backward_tile(const BackwardHead<T, C, Terms>& work, const Tile& tile) {
  const BackwardScratch<C>& s = work.scratch;
  const int64_t d = work.head.extents.head_width;
  const int64_t query = tile.query * d, key = tile.key * d;
  const TileSpecs specs(tile, d, dtype_of<C>());
  multiply(specs.scores, s.k + key, s.q + query, s.scores);
  if (work.cap.acts()) cap_scores(work.cap, tile.keys * tile.queries, s.scores);
  work.terms.add_to_tile(tile, s.scores);
  multiply(specs.scores, s.v + key, s.dy + query, s.dp);
  gradient_tile(work, tile);
  work.terms.take_tile(tile, s.dp);
  multiply(specs.keys, s.probabilities, s.dy + query, s.dv + key);
  multiply(specs.keys, s.ds, s.q + query, s.dk + key);
  multiply(specs.queries, s.ds, s.k + key, s.dq + query);
}

/// Writes the dot products of rows of y and dy, each added from its first element to its last. Adds
/// several rows side by side, since one addition waits for the one before.
template <class T>
void dot_rows(const StridedRows& shape, const T* y, const T* dy, float* sums) {
  constexpr int64_t kSide = 8, kColumns = 64;
  float products[kSide][kColumns] = {};
  for (int64_t i = 0; i < shape.rows; i += kSide) {
    const int64_t rows = std::min(kSide, shape.rows - i);
    float sum[kSide] = {};
    for (int64_t first = 0; first < shape.columns; first += kColumns) {
      const int64_t columns = std::min(kColumns, shape.columns - first);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (i + r) * shape.ld + first;
        for (int64_t j = 0; j < columns; ++j) products[r][j] = float(dy[at + j]) * float(y[at + j]);
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t r = 0; r < kSide; ++r) sum[r] += products[r][j];
    }
    std::copy_n(sum, rows, sums + i);
  }
}

/// Gathers the arrays of queries. Padding gets probabilities of zero.
template <class T, class C, class Terms>
void gather_queries(const BackwardHead<T, C, Terms>& work) {
  const Head& head = work.head;
  const BackwardScratch<C>& s = work.scratch;
  const int64_t d = head.extents.head_width, width = head.extents.inner_width();
  const int64_t padding = head.rows.queries - head.queries;
  const T* dy = work.arrays.dy + head.of_queries(width);
  const T* y = work.arrays.y + head.of_queries(width);
  const StridedRows queries{head.queries, d, width};
  gather_rows(queries, dy, s.dy);
  zero_rows({padding, d, d}, s.dy + head.queries * d);
  dot_rows(queries, y, dy, s.y_dot_dy);
  for (int64_t i = 0; i < head.queries; ++i)
    s.log2_sum[i] = kLog2E * work.arrays.logsumexp[head.first_row() + i];
  std::fill_n(s.y_dot_dy + head.queries, padding, 0.0f);
  std::fill_n(s.log2_sum + head.queries, padding, -kMinusInfinity);
}

template <class T, class C, class Terms>
void scatter_queries(const BackwardHead<T, C, Terms>& work) {
  const Head& head = work.head;
  const int64_t d = head.extents.head_width, stride = work.arrays.in.q_stride;
  T* const dq = work.arrays.dq + head.of_queries(stride);
  scatter_rows({head.queries, d, stride}, work.scale, work.scratch.dq, dq);
  zero_rows({head.extents.length - head.queries, d, stride}, dq + head.queries * stride);
}

template <class T, class C, class Terms>
void scatter_keys(const BackwardHead<T, C, Terms>& work) {
  const Head& head = work.head;
  const BackwardScratch<C>& s = work.scratch;
  const AttentionInputs<T>& in = work.arrays.in;
  const int64_t d = head.extents.head_width, keys = head.of_keys(in.kv_stride);
  const StridedRows real{head.keys, d, in.kv_stride};
  const StridedRows padding{head.extents.key_length() - head.keys, d, in.kv_stride};
  scatter_rows(real, work.scale, s.dk, work.arrays.dk + keys);
  scatter_rows(real, 1.0f, s.dv, work.arrays.dv + keys);
  for (T* rows : {work.arrays.dk, work.arrays.dv})
    zero_rows(padding, rows + keys + head.keys * in.kv_stride);
}

/// Gathers keys and values, and clears their gradients.
template <class T, class C, class Terms>
void begin_keys(const BackwardHead<T, C, Terms>& work) {
  gather_keys(work.head, work.arrays.in, work.scratch);
  const int64_t numel = work.head.rows.keys * work.head.extents.head_width;
  for (float* sum : {work.scratch.dk, work.scratch.dv}) std::fill_n(sum, numel, 0.0f);
}

/// Writes dq of a head of queries, and adds to dk and dv of its keys.
template <class T, class C, class Terms>
void backward_queries(const BackwardHead<T, C, Terms>& work) {
  const Head& head = work.head;
  gather_head_queries(head, work.arrays.in, work.scratch);
  gather_queries(work);
  std::fill_n(work.scratch.dq, head.rows.queries * head.extents.head_width, 0.0f);
  work.terms.begin_head();
  for (int64_t query = 0; query < head.rows.queries; query += kQueries) {
    work.terms.begin_queries(query);
    for_key_tiles(head.rows, head.tile_row(query), kBackwardKeys,
                  [&](const Tile& tile) { backward_tile(work, tile); });
    work.terms.end_queries(query);
  }
  work.terms.end_head();
  scatter_queries(work);
}

/// Writes the gradients of a head that shares its keys with no other.
template <class T, class C, class Terms>
void backward_head(const BackwardHead<T, C, Terms>& work) {
  begin_keys(work);
  backward_queries(work);
  scatter_keys(work);
}

}  // namespace zero::kernels::vendor
