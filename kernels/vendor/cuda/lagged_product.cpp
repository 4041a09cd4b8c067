// Lagged products whose tiles are finished with GELU: two rows of a warp at once, or in turns.

#include "kernels/vendor/cuda/lagged_product.hpp"

#include <cuda_runtime.h>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"
#include "kernels/vendor/cuda/lagged_turns.hpp"

namespace zero::kernels::vendor {
namespace {

using namespace lagged;

/// The biases of a tile on their way into shared memory.
struct TileBias {
  static constexpr int kEach = (kColumns + kFinishing - 1) / kFinishing;
  float at[kEach];

  __device__ static TileBias of(const __nv_bfloat16* bias, int n, int tile_n) {
    TileBias made;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = tile_n * kColumns + i * kFinishing + Seat().index;
      made.at[i] = column < n ? __bfloat162float(bias[column]) : 0.0f;
    }
    return made;
  }
  __device__ void leave(float* bias) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int j = i * kFinishing + Seat().index;
      if (j < kColumns) bias[j] = at[i];
    }
  }
};

__device__ __forceinline__ uint32_t gelu_of_pair(uint32_t pair) {
  return packed(fast_gelu(low_of(pair)), fast_gelu(high_of(pair)));
}
__device__ __forceinline__ uint4 gelu_of_chunk(const uint4& chunk) {
  return {gelu_of_pair(chunk.x), gelu_of_pair(chunk.y), gelu_of_pair(chunk.z),
          gelu_of_pair(chunk.w)};
}

/// aux = product and bias in bf16, c = GELU of aux.
struct GeluArrays {
  int m, n;
  const __nv_bfloat16* bias;  ///< [n]
  __nv_bfloat16* aux;         ///< [m, n]
  __nv_bfloat16* c;           ///< [m, n]

  using Weights = RowMajor;
  static constexpr bool kAddsBias = true;
  static constexpr int kBeside = 2 * kColumns;  ///< a bias for each half
};

/// A warp takes its rows of a half by twos.
struct FinishGelu : GeluArrays {
  static constexpr int kFinishRegisters = 120, kMultiplyRegisters = 192;

  /// Gives biases to the warp groups that multiply and takes results from them. A warp group waits
  /// before its next result, and not earlier, until this one's half has been read.
  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result,
                                        float* biases) const {
    if (!walk.more()) return;
    const TileBias first = TileBias::of(bias, n, walk.place().y);
    for (int half = 0; half < 2; ++half) {
      first.leave(biases + half * kColumns);
      arrive_at(kEmpty + half);
    }
    while (walk.more()) {
      const Seats place = Seats::of(*this, walk.place());
      walk.next();
      const bool more = walk.more();
      const TileBias next = TileBias::of(bias, n, more ? walk.place().y : 0);
      for (int half = 0; half < 2; ++half) {
        wait_at(kFull + half);
        finish_half(place, half, result + half * kHalfBytes);
        if (!more) continue;
        next.leave(biases + half * kColumns);
        arrive_at(kEmpty + half);
      }
    }
  }

 private:
  static constexpr int kWarpRows = (kHalf + kFinishers - 1) / kFinishers;  ///< of a half
  static constexpr int kPair = 2;
  static_assert(kWarpRows % kPair == 0);

  /// Where a thread's chunks of a tile lie in c.
  struct Seats {
    int64_t first;  ///< element of the warp's first row of the tile
    int rows;       ///< of the tile inside c; none where the chunk is beside it
    int n;

    __device__ static Seats of(const FinishGelu& work, int2 tile) {
      const int i = tile.x * kRows, j = tile.y * kColumns + Seat().lane * 8;
      return {int64_t(i + Seat().warp) * work.n + j, j < work.n ? work.m - i : 0, work.n};
    }
    /// Returns the row of its half that is the warp's `i`th; the last may be behind the half.
    __device__ static int row(int i) { return i * kFinishers + Seat().warp; }
    __device__ bool inside(int half, int i) const {
      return row(i) < kHalf && half * kHalf + row(i) < rows;
    }
    __device__ int64_t at(int half, int i) const {
      return first + int64_t((half * kHalf + i * kFinishers) * n);
    }
  };

  __device__ static uint4& chunk_at(__nv_bfloat16* base, int64_t element) {
    return *reinterpret_cast<uint4*>(base + element);
  }
  /// Zero behind the half.
  __device__ static uint4 left_chunk(const unsigned char* half, int row) {
    return row < kHalf ? *reinterpret_cast<const uint4*>(half + byte_of(row, Seat().lane))
                       : uint4{};
  }

  __device__ __forceinline__ void finish_half(const Seats& place, int half,
                                              const unsigned char* left) const {
    for (int i = 0; i < kWarpRows; i += kPair) {
      uint4 chunk[kPair];
#pragma unroll
      for (int u = 0; u < kPair; ++u) chunk[u] = left_chunk(left, Seats::row(i + u));
#pragma unroll
      for (int u = 0; u < kPair; ++u) {
        const uint4 y = gelu_of_chunk(chunk[u]);
        if (!place.inside(half, i + u)) continue;
        chunk_at(aux, place.at(half, i + u)) = chunk[u];
        chunk_at(c, place.at(half, i + u)) = y;
      }
    }
  }
};

/// A warp takes its rows of a tile in turns.
struct FinishGeluInTurns : GeluArrays {
  static constexpr int kFinishRegisters = 136, kMultiplyRegisters = 184;

  /// As FinishGelu::tiles().
  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result,
                                        float* biases) const {
    if (!walk.more()) return;
    const TileBias first = TileBias::of(bias, n, walk.place().y);
    for (int half = 0; half < 2; ++half) {
      first.leave(biases + half * kColumns);
      arrive_at(kEmpty + half);
    }
    while (walk.more()) {
      const Place place = Place::of(m, n, walk.place());
      walk.next();
      const bool more = walk.more();
      const TileBias next = TileBias::of(bias, n, more ? walk.place().y : 0);
      wait_for_tile();
      for (int half = 0; half < 2; ++half) next.leave(biases + half * kColumns);
      finish_turns(result, more, [&](int turn, const Turn& left) { finish(place, turn, left); });
    }
  }

 private:
  __device__ __forceinline__ void finish(const Place& place, int turn, const Turn& left) const {
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const uint4 y = gelu_of_chunk(left.chunk[u]);
      const int i = turn * kAtOnce + u;
      if (!place.inside(i)) continue;
      store_chunk(aux, place.at(i, n), left.chunk[u]);
      store_chunk(c, place.at(i, n), y);
    }
  }
};

template <class Finish>
bool run(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands) {
  return launch_lagged(stream, spec, operands,
                       Finish{{.m = int(spec.m),
                               .n = int(spec.n),
                               .bias = static_cast<const __nv_bfloat16*>(operands.bias),
                               .aux = static_cast<__nv_bfloat16*>(operands.aux),
                               .c = static_cast<__nv_bfloat16*>(operands.c)}});
}

}  // namespace

bool run_lagged_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands) {
  return run<FinishGelu>(stream, spec, operands);
}

bool run_lagged_product_in_turns(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands) {
  return run<FinishGeluInTurns>(stream, spec, operands);
}

}  // namespace zero::kernels::vendor
