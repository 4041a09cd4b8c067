#pragma once
/// Finishes the tiles of a lagged product (cuda/lagged_product.hpp). Two warp groups of a block
/// leave a tile's product in shared memory in bf16, and three warps finish it in turns of four rows
/// each. A template over a thread of a block, so that the host runs it in tests.
///
/// Beside its place, a thread knows: meet(barrier, threads) and arrive(barrier, threads), the named
/// barriers of the hardware; read(p), read_once(p) and write(p, chunk), which move 16 bytes in one
/// instruction; gelu(x), gelu_slope(x), and rounded(low, high), a pair in bf16.

#include <bit>
#include <cstdint>

#include "kernels/support/warp_runs.hpp"
#include "zero/base/dtype.hpp"
#include "zero/base/portable.hpp"

namespace zero::kernels::vendor::lagged {

inline constexpr int kRows = 128, kColumns = 256;  ///< of a tile
inline constexpr int kHalf = 64;                   ///< rows that a warp group multiplies
inline constexpr int kGroup = 128;                 ///< threads of a warp group
inline constexpr int kCluster = 2;                 ///< blocks that share tiles of b, along m
inline constexpr int kRowBytes = 2 * kColumns;
inline constexpr int kHalfBytes = kHalf * kRowBytes;
inline constexpr int kThreads = 3 * kGroup;
inline constexpr int kFinishers = 3;                ///< warps that finish: the second to the fourth
inline constexpr int kFinishing = kFinishers * 32;  ///< threads that finish
inline constexpr int kMeeting = kGroup + kFinishing;
inline constexpr int kChunk = 8;   ///< columns of a finishing thread
inline constexpr int kAtOnce = 4;  ///< of its rows, so that none waits for shared memory alone
/// Turns that a finishing warp takes for a tile.
inline constexpr int kTurns = (kRows + kFinishers * kAtOnce - 1) / (kFinishers * kAtOnce);
/// Turns after which it has read all of its rows of the first half.
inline constexpr int kTurnsOfHalf = (kHalf + kFinishers * kAtOnce - 1) / (kFinishers * kAtOnce);

/// Barriers between a warp group that multiplies and the warps that finish, one for each half, and
/// one of these warps alone. The hardware's barrier 0 is that of the whole block.
enum Barrier : int { kFull = 1, kEmpty = 3, kFinished = 5 };

/// A tile's place in c, in tiles.
struct TilePlace {
  int m, n;
};

/// Eight elements of bf16, two a word.
struct alignas(16) Chunk {
  uint32_t pair[4];
};

/// Returns the byte of 16-byte chunk `chunk` of a row of a tile. Rows are turned against each
/// other, so that eight of them meet in no bank.
ZERO_HOST_DEVICE inline int byte_of(int row, int chunk) {
  return row * kRowBytes + ((chunk ^ (row & 7)) << 4);
}

/// Returns the number of the thread's warp among those that finish. Each has every third row.
template <class Block>
ZERO_DEVICE_ONLY int finisher(const Block& block) {
  return block.warp() - 1;
}

/// The chunks of a tile in c [m, n] that a finishing thread has.
struct Place {
  int64_t first;  ///< element of the warp's first row
  int row, rows;  ///< the warp's first row; rows of the tile in c, none if the chunk lies beside c

  template <class Block>
  ZERO_DEVICE_ONLY static Place of(const Block& block, int m, int n, TilePlace tile) {
    const int row = finisher(block), column = tile.n * kColumns + block.lane() * kChunk;
    const int left = column < n ? m - tile.m * kRows : 0;
    return {int64_t(tile.m * kRows + row) * n + column, row, left < kRows ? left : kRows};
  }
  /// True if the warp's `i`th row lies in c.
  ZERO_HOST_DEVICE bool inside(int i) const { return row + i * kFinishers < rows; }
  /// Returns the chunk's first element in that row.
  ZERO_HOST_DEVICE int64_t at(int i, int n) const { return first + int64_t(i * kFinishers) * n; }
};

/// Four rows of a thread.
struct Turn {
  Chunk chunk[kAtOnce];

  /// Reads those of a turn from shared memory; zero behind the tile.
  template <class Block>
  ZERO_DEVICE_ONLY static Turn left(const Block& block, const unsigned char* result, int turn) {
    Turn made;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int row = (turn * kAtOnce + u) * kFinishers + finisher(block);
      made.chunk[u] =
          row < kRows ? block.read(result + byte_of(row, block.lane())) : Chunk{{0, 0, 0, 0}};
    }
    return made;
  }
};

template <class Block>
ZERO_DEVICE_ONLY void wait_for_tile(const Block& block) {
  block.meet(kFull, kMeeting);
  block.meet(kFull + 1, kMeeting);
}

/// Calls finish(turn, its rows) for all turns of a tile whose halves are full, and says where one
/// is empty, if there is `more`. A turn's rows are on their way from shared memory while those
/// before it are finished: products keep that memory busy, so that it answers late.
template <class Block, class Finish>
ZERO_DEVICE_ONLY void finish_turns(const Block& block, const unsigned char* result, bool more,
                                   const Finish& finish) {
  Turn now = Turn::left(block, result, 0);
#pragma unroll 2
  for (int turn = 0; turn < kTurns; ++turn) {
    const Turn then = Turn::left(block, result, turn + 1);
    finish(turn, now);
    if (more && turn == kTurnsOfHalf - 1) block.arrive(kEmpty, kMeeting);
    now = then;
  }
  if (more) block.arrive(kEmpty + 1, kMeeting);
}

ZERO_HOST_DEVICE inline float low_of(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
ZERO_HOST_DEVICE inline float high_of(uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000u);
}

/// The biases of a tile on their way into shared memory.
struct TileBias {
  static constexpr int kEach = (kColumns + kFinishing - 1) / kFinishing;
  float at[kEach];

  template <class Block>
  ZERO_DEVICE_ONLY static TileBias of(const Block& block, const bf16* bias, int n, int tile_n) {
    TileBias made;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = tile_n * kColumns + i * kFinishing + block.thread() - kWarpLanes;
      made.at[i] = column < n ? float(bias[column]) : 0.0f;
    }
    return made;
  }
  template <class Block>
  ZERO_DEVICE_ONLY void leave(const Block& block, float* bias) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int j = i * kFinishing + block.thread() - kWarpLanes;
      if (j < kColumns) bias[j] = at[i];
    }
  }
};

/// Finishes tiles with GELU: aux = product and bias in bf16, c = GELU of aux.
struct GeluTiles {
  int m, n;
  const bf16* bias;  ///< [n]
  bf16* aux;         ///< [m, n]
  bf16* c;           ///< [m, n]

  /// Gives biases to the warp groups that multiply, for each half, and takes results from them. A
  /// warp group waits before its next result, and not earlier, until this one's half has been read.
  /// Returns when the last tile is finished.
  ///   walk    the block's tiles: more(), next(), place()
  ///   result  [kRows, kColumns] in shared memory, by byte_of()
  ///   biases  [2, kColumns] in shared memory
  template <class Block, class Walk>
  ZERO_DEVICE_ONLY void operator()(const Block& block, Walk walk, const unsigned char* result,
                                   float* biases) const {
    if (!walk.more()) return;
    const TileBias first = TileBias::of(block, bias, n, walk.place().n);
    for (int half = 0; half < 2; ++half) {
      first.leave(block, biases + half * kColumns);
      block.arrive(kEmpty + half, kMeeting);
    }
    while (walk.more()) {
      const Place place = Place::of(block, m, n, walk.place());
      walk.next();
      const bool more = walk.more();
      const TileBias next = TileBias::of(block, bias, n, more ? walk.place().n : 0);
      wait_for_tile(block);
      for (int half = 0; half < 2; ++half) next.leave(block, biases + half * kColumns);
      finish_turns(block, result, more,
                   [&](int turn, const Turn& left) { finish(block, place, turn, left); });
    }
  }

 private:
  template <class Block>
  ZERO_DEVICE_ONLY void finish(const Block& block, const Place& place, int turn,
                               const Turn& left) const {
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      Chunk y;
      for (int p = 0; p < 4; ++p) {
        const uint32_t pair = left.chunk[u].pair[p];
        y.pair[p] = block.rounded(block.gelu(low_of(pair)), block.gelu(high_of(pair)));
      }
      const int i = turn * kAtOnce + u;
      if (!place.inside(i)) continue;
      block.write(aux + place.at(i, n), left.chunk[u]);
      block.write(c + place.at(i, n), y);
    }
  }
};

/// Finishes tiles with the gradient of GELU: c = product in bf16 * slope of GELU at aux; and adds
/// the rows of each tile of c.
struct GradientTiles {
  int m, n;
  const bf16* aux;  ///< [m, n]
  bf16* c;          ///< [m, n]
  float* partial;   ///< [tiles along m, n]; null: no sums

  /// As GeluTiles' operator, without biases.
  ///   sums  [kFinishers, kColumns] in shared memory
  template <class Block, class Walk>
  ZERO_DEVICE_ONLY void operator()(const Block& block, Walk walk, const unsigned char* result,
                                   float* sums) const {
    if (!walk.more()) return;
    for (int half = 0; half < 2; ++half) block.arrive(kEmpty + half, kMeeting);
    Place place = Place::of(block, m, n, walk.place());
    Turn ahead[2] = {aux_turn(block, place, 0), aux_turn(block, place, 1)};
    while (walk.more()) {
      const TilePlace tile = walk.place();
      walk.next();
      const bool more = walk.more();
      const Place next = more ? Place::of(block, m, n, walk.place()) : Place{0, 0, 0};
      Sums sum;
      wait_for_tile(block);
      finish_turns(block, result, more, [&](int turn, const Turn& left) {
        const Turn x = ahead[0];
        ahead[0] = ahead[1];
        // Memory answers later than two turns take.
        const bool here = turn + 2 < kTurns;
        const Place from{here ? place.first : next.first, here ? place.row : next.row,
                         here ? place.rows : next.rows};
        ahead[1] = aux_turn(block, from, turn + 2 - (here ? 0 : kTurns));
        finish(block, place, turn, x, left, sum);
      });
      if (partial != nullptr) leave_sums(block, tile, sum, sums);
      place = next;
    }
  }

 private:
  /// The sums of a thread's columns, by pairs.
  struct Sums {
    float low[4] = {}, high[4] = {};
  };

  template <class Block>
  ZERO_DEVICE_ONLY Turn aux_turn(const Block& block, const Place& place, int turn) const {
    Turn made;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int i = turn * kAtOnce + u;
      made.chunk[u] = place.inside(i) ? block.read_once(aux + place.at(i, n)) : Chunk{{0, 0, 0, 0}};
    }
    return made;
  }

  template <class Block>
  ZERO_DEVICE_ONLY void finish(const Block& block, const Place& place, int turn, const Turn& x,
                               const Turn& left, Sums& sum) const {
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      Chunk y;
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const uint32_t at = x.chunk[u].pair[p], product = left.chunk[u].pair[p];
        y.pair[p] = block.rounded(low_of(product) * block.gelu_slope(low_of(at)),
                                  high_of(product) * block.gelu_slope(high_of(at)));
        sum.low[p] += low_of(y.pair[p]);
        sum.high[p] += high_of(y.pair[p]);
      }
      const int i = turn * kAtOnce + u;
      if (place.inside(i)) block.write(c + place.at(i, n), y);
    }
  }

  /// Adds the warps' sums in their order. No warp leaves the next tile's before all have read
  /// these: it would have to meet them at kFull first.
  template <class Block>
  ZERO_DEVICE_ONLY void leave_sums(const Block& block, TilePlace tile, const Sums& sum,
                                   float* sums) const {
    float* const own = sums + finisher(block) * kColumns + block.lane() * kChunk;
#pragma unroll
    for (int p = 0; p < 4; ++p) own[2 * p] = sum.low[p], own[2 * p + 1] = sum.high[p];
    block.meet(kFinished, kFinishing);
    for (int j = block.thread() - kWarpLanes; j < kColumns; j += kFinishing) {
      const int column = tile.n * kColumns + j;
      if (tile.m * kRows >= m || column >= n) continue;
      float all = sums[j];
#pragma unroll
      for (int warp = 1; warp < kFinishers; ++warp) all += sums[warp * kColumns + j];
      partial[int64_t(tile.m) * n + column] = all;
    }
  }
};

}  // namespace zero::kernels::vendor::lagged
