#pragma once
/// Scores by relative position on the host. A product of tokens with the rows of a table is read
/// along the diagonals of a tile of scores, and gradients of scores are added up along them.

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/vendor/host/attention.hpp"
#include "zero/kernels/disentangled.hpp"

namespace zero::kernels::vendor {

/// A vector of kRowLanes floats. Functions take it by reference, so that no build without such
/// registers has an interface of its own.
using Floats [[gnu::vector_size(64)]] = float;
static_assert(sizeof(Floats) == kRowLanes * sizeof(float));

inline void load(const float* from, Floats& to) { std::memcpy(&to, from, sizeof to); }
inline void store(const Floats& from, float* to) { std::memcpy(to, &from, sizeof from); }

template <int kHalf, int... kLane>
void exchange(Floats& a, Floats& b, std::integer_sequence<int, kLane...>) {
  const Floats first = a, second = b;
  a = __builtin_shufflevector(first, second,
                              ((kLane & kHalf) == 0 ? kLane : kRowLanes + kLane - kHalf)...);
  b = __builtin_shufflevector(first, second,
                              ((kLane & kHalf) == 0 ? kLane + kHalf : kRowLanes + kLane)...);
}

template <int kHalf>
void transpose_blocks(Floats (&rows)[kRowLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kRowLanes; ++i)
    if ((i & kHalf) == 0)
      exchange<kHalf>(rows[i], rows[i + kHalf], std::make_integer_sequence<int, kRowLanes>());
}

/// Transposes kRowLanes rows of kRowLanes floats.
inline void transpose(Floats (&rows)[kRowLanes]) {
  transpose_blocks<8>(rows);
  transpose_blocks<4>(rows);
  transpose_blocks<2>(rows);
  transpose_blocks<1>(rows);
}

/// Floats that may be read before and behind the rows of a table in a product.
inline constexpr int64_t kRowMargin = 32;

/// The row of each diagonal of scores, for texts of `length` tokens, counted from the first row
/// that they read. Diagonals reach kMargin places beyond both ends.
class Diagonals {
 public:
  static constexpr int64_t kMargin = 64;

  static int64_t numel(int64_t length) { return 2 * (2 * (length + kMargin) + 1); }

  /// Writes the rows to `memory`, of numel() elements.
  Diagonals(const DistanceTable& table, int64_t length, int32_t* memory)
      : up_(memory + length + kMargin), down_(up_ + 2 * (length + kMargin) + 1), near_(true) {
    const DistanceRows rows = distance_rows(table, length);
    const int64_t reach = length + kMargin;
    for (int64_t distance = -reach; distance <= reach; ++distance) {
      const int64_t row = distance_row(table, distance) - rows.first;
      up_[distance] = down_[-distance] = int32_t(std::clamp<int64_t>(row, 0, rows.count - 1));
    }
    for (int64_t distance = -reach; distance + kRowLanes - 1 <= reach; ++distance)
      near_ = near_ && up_[distance + kRowLanes - 1] - up_[distance] < kRowLanes;
  }

  /// Returns an array whose element d is the row of a query d places behind its key; down(), d
  /// places before it.
  const int32_t* up() const { return up_; }
  const int32_t* down() const { return down_; }
  /// True if any kRowLanes neighbouring diagonals read rows less than kRowLanes apart.
  bool near() const { return near_; }

 private:
  int32_t *up_, *down_;
  bool near_;
};

/// Reads lane l from row[at[l]].
inline void read_far_rows(const float* row, const int32_t* at, Floats& out) {
  float lanes[kRowLanes];
  for (int64_t l = 0; l < kRowLanes; ++l) lanes[l] = row[at[l]];
  load(lanes, out);
}

#ifdef __AVX512F__
/// Does so for rows less than kRowLanes apart, which one vector holds.
inline void read_near_rows(const float* row, const int32_t* at, Floats& out) {
  const int32_t first = std::min(at[0], at[kRowLanes - 1]);
  const __m512i index = _mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_set1_epi32(first));
  out = Floats(_mm512_permutexvar_ps(index, _mm512_loadu_ps(row + first)));
}
#else
inline void read_near_rows(const float* row, const int32_t* at, Floats& out) {
  read_far_rows(row, at, out);
}
#endif

template <bool kNear>
void read_rows(const float* row, const int32_t* at, Floats& out) {
  kNear ? read_near_rows(row, at, out) : read_far_rows(row, at, out);
}

/// A product of tokens with the rows of a table, from row `first` on.
struct TokenProducts {
  float* products;  ///< [tokens, pitch]; kRowMargin floats before and behind may be read
  int64_t pitch, first;

  const float* of(int64_t token) const { return products + token * pitch - first; }
};

/// A tile of scores whose rows belong to one side, queries or keys, and columns to the other.
struct ScoreTile {
  float* scores;  ///< kRowLanes rows at a time are written
  int64_t pitch, rows, columns;
  int64_t diagonal;  ///< that of row 0 and column 0: place of the column minus that of the row
};

/// Adds the terms of positions to a tile: row a has own.of(a)[rows[d]] and other.of(b)[rows[d]] at
/// column b, on diagonal d. `rows` is up() or down(), `against` the other one.
struct PositionTerms {
  TokenProducts own, other;
  const int32_t *rows, *against;
  bool near;

  void add_to(const ScoreTile& tile) const { near ? add<true>(tile) : add<false>(tile); }

 private:
  template <bool kNear>
  void add(const ScoreTile& tile) const {
    for (int64_t b = 0; b < tile.columns; b += kRowLanes)
      for (int64_t a = 0; a < tile.rows; a += kRowLanes) add_block<kNear>(tile, a, b);
  }
  template <bool kNear>
  void add_block(const ScoreTile& tile, int64_t a, int64_t b) const {
    const int64_t diagonal = tile.diagonal + b - a;
    Floats terms[kRowLanes];
#pragma GCC unroll 16
    for (int64_t l = 0; l < kRowLanes; ++l)
      read_rows<kNear>(other.of(b + l), against - diagonal - l, terms[l]);
    transpose(terms);
#pragma GCC unroll 16
    for (int64_t l = 0; l < kRowLanes; ++l) {
      Floats mine;
      read_rows<kNear>(own.of(a + l), rows + diagonal - l, mine);
      terms[l] += mine;
    }
    if (tile.columns - b < kRowLanes) return add_lanes(terms, tile, a, b);
#pragma GCC unroll 16
    for (int64_t l = 0; l < kRowLanes; ++l) {
      float* const at = tile.scores + (a + l) * tile.pitch + b;
      Floats score;
      load(at, score);
      score += terms[l];
      store(score, at);
    }
  }
  /// Adds the last columns, behind which the next row may begin.
  static void add_lanes(const Floats (&terms)[kRowLanes], const ScoreTile& tile, int64_t a,
                        int64_t b) {
    for (int64_t l = 0; l < std::min<int64_t>(kRowLanes, tile.rows - a); ++l) {
      float lanes[kRowLanes];
      store(terms[l], lanes);
      for (int64_t j = 0; j < tile.columns - b; ++j)
        tile.scores[(a + l) * tile.pitch + b + j] += lanes[j];
    }
  }
};

/// Zeros before and behind the rows of SpreadTile.
inline constexpr int64_t kTileMargin = 32;

/// A tile of gradients of scores, and its transpose, with zeros on both sides of each row.
struct SpreadTile {
  float *rows, *columns;  ///< [tile rows, row_pitch], [tile columns, column_pitch]
  int64_t row_pitch, column_pitch;

  static int64_t pitch_of(int64_t numel) { return round_up(numel, kRowLanes) + 2 * kTileMargin; }

  /// Copies a tile. Rows from `real_rows` on become zeros.
  void fill(const float* from, const ScoreTile& tile, int64_t real_rows) const {
    clear(rows, row_pitch, tile.rows, tile.columns);
    clear(columns, column_pitch, tile.columns, tile.rows);
    for (int64_t a = 0; a < tile.rows; a += kRowLanes)
      for (int64_t b = 0; b < tile.columns; b += kRowLanes)
        fill_block(from, tile, std::min(real_rows, tile.rows), {a, b});
  }

 private:
  struct Place {
    int64_t row, column;
  };
  static void clear(float* to, int64_t pitch, int64_t count, int64_t width) {
    for (int64_t i = 0; i < round_up(count, kRowLanes); ++i) {
      float* const row = to + i * pitch;
      std::fill_n(row, kTileMargin, 0.0f);
      std::fill(row + kTileMargin + width / kRowLanes * kRowLanes, row + pitch, 0.0f);
    }
  }
  void fill_block(const float* from, const ScoreTile& tile, int64_t real_rows, Place at) const {
    const int64_t width = std::min<int64_t>(kRowLanes, tile.columns - at.column);
    Floats block[kRowLanes];
    for (int64_t l = 0; l < kRowLanes; ++l) {
      float lanes[kRowLanes] = {};
      if (at.row + l < real_rows)
        std::copy_n(from + (at.row + l) * tile.pitch + at.column, width, lanes);
      load(lanes, block[l]);
      std::memcpy(rows + (at.row + l) * row_pitch + kTileMargin + at.column, lanes, sizeof lanes);
    }
    transpose(block);
    for (int64_t l = 0; l < kRowLanes; ++l)
      store(block[l], columns + (at.column + l) * column_pitch + kTileMargin + at.row);
  }
};

/// Sums of the gradients of scores by row of a table and token, [rows, pitch of tokens].
struct DiagonalSums {
  float* sums;
  int64_t pitch, first;
  const int32_t* rows;  ///< as in PositionTerms

  /// Adds a tile, with the rows' tokens from `token` on and zeros on both sides of each row.
  void add(const float* spread, int64_t spread_pitch, const ScoreTile& tile, int64_t token) const {
    for (int64_t a = 0; a < tile.rows; a += kRowLanes)
      for (int64_t shift = -(a + kRowLanes - 1); shift < tile.columns - a; shift += kRowLanes)
        add_block(spread + a * spread_pitch + kTileMargin + a + shift, spread_pitch, tile,
                  {a, shift, token});
  }

 private:
  struct Place {
    int64_t row, shift, token;
  };
  void add_block(const float* from, int64_t spread_pitch, const ScoreTile& tile, Place at) const {
    Floats block[kRowLanes];
    for (int64_t l = 0; l < kRowLanes; ++l) load(from + l * (spread_pitch + 1), block[l]);
    transpose(block);
    const int64_t begin = std::max<int64_t>(0, 1 - tile.rows - at.shift);
    const int64_t end = std::min<int64_t>(kRowLanes, tile.columns - at.shift);
    for (int64_t l = begin; l < end; ++l) {
      float* const to =
          sums + (rows[tile.diagonal + at.shift + l] - first) * pitch + at.token + at.row;
      Floats sum;
      load(to, sum);
      sum += block[l];
      store(sum, to);
    }
  }
};

}  // namespace zero::kernels::vendor
