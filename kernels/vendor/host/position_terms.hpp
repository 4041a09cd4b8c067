#pragma once
/// The terms of positions in one head's scores on the host, in both directions: products of tokens
/// with rows of the table of distances, before or behind those of tokens with each other.

#include <algorithm>
#include <type_traits>

#include "kernels/vendor/host/attention_backward.hpp"
#include "kernels/vendor/host/attention_forward.hpp"
#include "kernels/vendor/host/positions.hpp"

namespace zero::kernels::vendor {

/// Items of work that a gradient is divided into, at least, so that many threads share it.
inline constexpr int64_t kItems = 32;

/// A call, as all of its heads see it.
struct PositionCall {
  DisentangledExtents extents;
  AttentionExtents plain;
  int64_t rows;   ///< of the table
  int64_t pitch;  ///< of products of tokens with them

  explicit PositionCall(const DisentangledExtents& of)
      : extents(of),
        plain(of.plain()),
        rows(of.rows()),
        pitch(round_up(rows + kRowMargin, kRowLanes)) {}

  int64_t slack() const { return rows + kRowMargin; }
  int64_t tokens() const { return round_up(extents.length, kRowLanes); }
  int64_t groups() const {
    return std::min(extents.samples, ceil_div<int64_t>(kItems, extents.heads));
  }
  int64_t diagonal_bytes() const {
    return round_up(Diagonals::numel(extents.length) * int64_t(sizeof(int32_t)), kExtentAlignBytes);
  }
  /// Returns the numel of the gradient of a table's rows for one head.
  int64_t head_numel() const { return rows * extents.head_width; }

  /// Returns a head of a sample, whose queries are padding where its keys are.
  Head head(const int32_t* key_counts, int64_t item) const {
    Head head(plain, key_counts, item);
    head.queries = head.keys;
    head.rows.queries = head.rows.keys;
    return head;
  }
  /// Returns the rows that `length` tokens read, counted from the first one of the call.
  DistanceRows rows_of(int64_t length) const {
    if (length == 0) return {0, 0};
    DistanceRows own = distance_rows(extents.table, length);
    own.first -= distance_rows(extents.table, extents.length).first;
    return own;
  }
};

/// The products of positions: of tokens with `rows` rows of the table, and of gradients by row.
struct PositionSpecs {
  GemmSpec terms, tokens, positions;

  /// `tokens_pitch` is the pitch of gradients, [rows, tokens].
  PositionSpecs(const PositionCall& call, int64_t count, int64_t rows, int64_t tokens_pitch,
                Dtype compute)
      : terms(tile_spec({.m = count, .n = rows, .k = call.extents.head_width, .transpose_b = true},
                        compute)),
        tokens(tile_spec({.m = count,
                          .n = call.extents.head_width,
                          .k = rows,
                          .transpose_a = true,
                          .accumulate = true},
                         compute)),
        positions(tile_spec(
            {.m = rows, .n = call.extents.head_width, .k = count, .accumulate = true}, compute)) {
    terms.ldc = call.pitch;
    tokens.lda = positions.lda = tokens_pitch;
  }
};

/// The head's rows of the table, and the products of tokens with them.
template <class C>
struct PositionScratch {
  C *keys, *queries;  ///< [rows, head_width]
  float* of_queries;  ///< [kQueries, pitch], with slack on both sides
  float* of_keys;     ///< [tokens, pitch], with slack on both sides

  PositionScratch(const PositionCall& call, Slice& slice) {
    for (C** array : {&keys, &queries}) *array = slice.take<C>(call.head_numel());
    of_queries = take_products(call, kQueries, slice);
    of_keys = take_products(call, call.tokens(), slice);
  }

  template <class T>
  void gather(const PositionCall& call, const PositionRows<const T>& from, int64_t head) const {
    const StridedRows shape{call.rows, call.extents.head_width, call.extents.inner_width()};
    gather_rows(shape, from.keys + head * shape.columns, keys);
    gather_rows(shape, from.queries + head * shape.columns, queries);
  }

 private:
  static float* take_products(const PositionCall& call, int64_t tokens, Slice& slice) {
    float* const whole = slice.take<float>(tokens * call.pitch + 2 * call.slack());
    return whole == nullptr ? nullptr : whole + call.slack();
  }
};

/// A head, with the rows of the table that its tokens read.
template <class C>
struct HeadPositions {
  const PositionCall* call;
  const Diagonals* diagonals;
  PositionScratch<C> scratch;
  Head head;
  DistanceRows rows;  ///< those that the head's tokens read

  int64_t d() const { return call->extents.head_width; }
  void multiply_queries(int64_t query, const C* q) const {
    const int64_t count = std::min(kQueries, head.rows.queries - query);
    multiply(specs(count).terms, q, scratch.keys + rows.first * d(), scratch.of_queries);
  }
  void multiply_keys(const C* k) const {
    if (rows.count == 0) return;
    multiply(specs(head.rows.keys).terms, k, scratch.queries + rows.first * d(), scratch.of_keys);
  }
  PositionSpecs specs(int64_t count, int64_t tokens_pitch = 0) const {
    return {*call, count, rows.count, tokens_pitch, dtype_of<C>()};
  }
  TokenProducts of_queries() const { return {scratch.of_queries, call->pitch, rows.first}; }
  TokenProducts of_keys(int64_t key) const {
    return {scratch.of_keys + key * call->pitch, call->pitch, rows.first};
  }
};

template <class C>
struct ForwardTerms : HeadPositions<C> {
  void begin_head(const C* k) const { this->multiply_keys(k); }
  void begin_queries(int64_t query, const C* q) const { this->multiply_queries(query, q); }
  void add_to_tile(const Tile& tile, int64_t pitch, float* scores) const {
    PositionTerms{.own = this->of_queries(),
                  .other = this->of_keys(tile.key),
                  .rows = this->diagonals->down(),
                  .against = this->diagonals->up(),
                  .near = this->diagonals->near()}
        .add_to({scores, pitch, tile.queries, tile.keys, tile.key - tile.query});
  }
  void add_to_row(const Head&, const Tile&, int64_t, float*) const {}
};

/// Sums by row of the table of one side's tokens, and a copy in the compute type.
template <class C>
struct SumScratch {
  int64_t pitch;
  float* sums;  ///< [rows, pitch]
  C* rounded;   ///< [rows, pitch]

  SumScratch(const PositionCall& call, int64_t tokens, Slice& slice) : pitch(tokens) {
    sums = slice.take<float>(call.rows * pitch);
    if constexpr (std::is_same_v<C, float>)
      rounded = sums;
    else
      rounded = slice.take<C>(call.rows * pitch);
  }
  void clear(const DistanceRows& rows) const { std::fill_n(sums, rows.count * pitch, 0.0f); }
  void round(const DistanceRows& rows) const {
    if constexpr (!std::is_same_v<C, float>) {
      for (int64_t i = 0; i < rows.count * pitch; i += kRowLanes) {
        Lanes lanes;
        std::copy_n(sums + i, kRowLanes, lanes);
        assign_lanes(rounded + i, lanes);
      }
    }
  }
};

template <class C>
struct BackwardTerms : HeadPositions<C> {
  BackwardScratch<C> own;
  SpreadTile spread;
  SumScratch<C> by_query, by_key;
  float *dkeys, *dqueries;  ///< [rows of the call, head_width], added to

  void begin_head() const {
    this->multiply_keys(own.k);
    by_key.clear(this->rows);
  }
  void begin_queries(int64_t query) const {
    this->multiply_queries(query, own.q + query * this->d());
    by_query.clear(this->rows);
  }
  void add_to_tile(const Tile& tile, float* scores) const {
    PositionTerms{.own = this->of_keys(tile.key),
                  .other = this->of_queries(),
                  .rows = this->diagonals->up(),
                  .against = this->diagonals->down(),
                  .near = this->diagonals->near()}
        .add_to(tile_of_keys(tile, scores));
  }
  template <class T>
  void compute_row(const BackwardHead<T, C, BackwardTerms>& work, const Tile& tile, int64_t key,
                   GradientRow row) const {
    constexpr bool kUnrounded = !std::is_same_v<C, float>;  // else ds is in place of dp
    const int64_t at = (key - tile.key) * tile.queries;
    row.unrounded = own.dp + at;
    gradient_row<kUnrounded>(work.dropout, row, tile.queries, own.probabilities + at, own.ds + at);
  }
  void take_tile(const Tile& tile, const float* ds) const {
    const ScoreTile keys = tile_of_keys(tile, nullptr);
    const ScoreTile queries{nullptr, 0, tile.queries, tile.keys, tile.key - tile.query};
    spread.fill(ds, keys, this->head.keys - tile.key);
    DiagonalSums{by_key.sums, by_key.pitch, this->rows.first, this->diagonals->up()}.add(
        spread.rows, spread.row_pitch, keys, tile.key);
    DiagonalSums{by_query.sums, by_query.pitch, this->rows.first, this->diagonals->down()}.add(
        spread.columns, spread.column_pitch, queries, 0);
  }
  void end_queries(int64_t query) const {
    const int64_t at = query * this->d(), first = this->rows.first * this->d();
    const PositionSpecs specs =
        this->specs(std::min(kQueries, this->head.rows.queries - query), by_query.pitch);
    by_query.round(this->rows);
    multiply(specs.tokens, by_query.rounded, this->scratch.keys + first, own.dq + at);
    multiply(specs.positions, by_query.rounded, own.q + at, dkeys + first);
  }
  void end_head() const {
    if (this->rows.count == 0) return;
    const int64_t first = this->rows.first * this->d();
    const PositionSpecs specs = this->specs(this->head.rows.keys, by_key.pitch);
    by_key.round(this->rows);
    multiply(specs.tokens, by_key.rounded, this->scratch.queries + first, own.dk);
    multiply(specs.positions, by_key.rounded, own.k, dqueries + first);
  }

 private:
  static ScoreTile tile_of_keys(const Tile& tile, float* scores) {
    return {scores, tile.queries, tile.keys, tile.queries, tile.query - tile.key};
  }
};

/// The scratch of a thread for the gradient.
template <class C>
struct GradientScratch {
  BackwardScratch<C> own;
  PositionScratch<C> positions;
  SpreadTile spread;
  SumScratch<C> by_query, by_key;

  GradientScratch(const PositionCall& call, Slice& slice)
      : own(call.plain, slice),
        positions(call, slice),
        by_query(call, kQueries, slice),
        by_key(call, call.tokens(), slice) {
    spread.row_pitch = SpreadTile::pitch_of(kQueries);
    spread.column_pitch = SpreadTile::pitch_of(kBackwardKeys);
    spread.rows = slice.take<float>(kBackwardKeys * spread.row_pitch);
    spread.columns = slice.take<float>(kQueries * spread.column_pitch);
  }
};

}  // namespace zero::kernels::vendor
