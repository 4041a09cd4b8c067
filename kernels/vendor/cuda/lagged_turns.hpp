#pragma once
/// How warps that finish a lagged product go over a tile in turns of four rows each, with the next
/// turn's rows on their way from shared memory. Device code.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "kernels/vendor/cuda/lagged_product.hpp"

namespace zero::kernels::vendor::lagged {

inline constexpr int kChunk = 8;   ///< columns of a finishing thread
inline constexpr int kAtOnce = 4;  ///< of its rows, so that none waits for shared memory alone
/// Turns that a finishing warp takes for a tile.
inline constexpr int kTurns = (kRows + kFinishers * kAtOnce - 1) / (kFinishers * kAtOnce);
/// Turns after which it has read all of its rows of the first half.
inline constexpr int kTurnsOfHalf = (kHalf + kFinishers * kAtOnce - 1) / (kFinishers * kAtOnce);

/// Where a finishing thread's chunks of a tile lie in c [m, n].
struct Place {
  int64_t first;  ///< element of the warp's first row
  int rows;       ///< of the tile inside c; none where the chunk is beside it

  __device__ static Place of(int m, int n, int2 tile) {
    const int i = tile.x * kRows, j = tile.y * kColumns + Seat().lane * kChunk;
    const int left = j < n ? m - i : 0;
    return {int64_t(i + Seat().warp) * n + j, left < kRows ? left : kRows};
  }
  /// Returns the row of the tile that is the warp's `i`th; the last ones may be behind it.
  __device__ static int row(int i) { return i * kFinishers + Seat().warp; }
  __device__ bool inside(int i) const { return row(i) < rows; }
  __device__ int64_t at(int i, int n) const { return first + int64_t(i * kFinishers) * n; }
};

/// The rows of a turn in shared memory; zero behind the tile.
struct Turn {
  uint4 chunk[kAtOnce];

  __device__ __forceinline__ static Turn of(const unsigned char* result, int turn) {
    Turn made;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int row = Place::row(turn * kAtOnce + u);
      made.chunk[u] = row < kRows
                          ? *reinterpret_cast<const uint4*>(result + byte_of(row, Seat().lane))
                          : uint4{};
    }
    return made;
  }
};

/// In one store: an assignment to a uint4 may become four.
__device__ __forceinline__ void store_chunk(__nv_bfloat16* base, int64_t element,
                                            const uint4& chunk) {
  asm volatile(
      "st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(base + element)),
      "r"(chunk.x), "r"(chunk.y), "r"(chunk.z), "r"(chunk.w)
      : "memory");
}

__device__ __forceinline__ float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_of(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

__device__ __forceinline__ void wait_for_tile() {
  wait_at(kFull);
  wait_at(kFull + 1);
}
/// Calls finish(turn, its rows) for all turns of a tile whose halves are full, and says where one
/// is empty, if there is `more`. A turn's rows are on their way from shared memory while those
/// before it are finished: products keep that memory busy, so that it answers late.
template <class Finish>
__device__ __forceinline__ void finish_turns(const unsigned char* result, bool more,
                                             const Finish& finish) {
  Turn now = Turn::of(result, 0);
#pragma unroll 2
  for (int turn = 0; turn < kTurns; ++turn) {
    const Turn then = Turn::of(result, turn + 1);
    finish(turn, now);
    if (more && turn == kTurnsOfHalf - 1) arrive_at(kEmpty);
    now = then;
  }
  if (more) arrive_at(kEmpty + 1);
}

}  // namespace zero::kernels::vendor::lagged
