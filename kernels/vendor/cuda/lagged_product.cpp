// Lagged products whose tiles are finished with GELU: two rows of a warp at once, or in turns.

#include "kernels/vendor/cuda/lagged_product.hpp"

#include <cuda_runtime.h>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/finishing_thread.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"

namespace zero::kernels::vendor {
namespace {

using namespace lagged;

__device__ __forceinline__ uint32_t gelu_of_pair(uint32_t pair) {
  return packed(fast_gelu(low_of(pair)), fast_gelu(high_of(pair)));
}
__device__ __forceinline__ uint4 gelu_of_chunk(const uint4& chunk) {
  return {gelu_of_pair(chunk.x), gelu_of_pair(chunk.y), gelu_of_pair(chunk.z),
          gelu_of_pair(chunk.w)};
}

/// The product that both finishes share.
struct GeluProductParts {
  using Weights = RowMajor;
  static constexpr bool kAddsBias = true;
  static constexpr int kBeside = 2 * kColumns;  ///< a bias for each half
  GeluTiles of;
};

/// Takes a warp's rows of a half by twos.
struct FinishGelu : GeluProductParts {
  static constexpr int kFinishRegisters = 120, kMultiplyRegisters = 192;

  /// As GeluTiles' operator.
  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result,
                                        float* biases) const {
    const FinishingThread self;
    if (!walk.more()) return;
    const TileBias first = TileBias::of(self, of.bias, of.n, walk.place().n);
    for (int half = 0; half < 2; ++half) {
      first.leave(self, biases + half * kColumns);
      arrive_at(kEmpty + half);
    }
    while (walk.more()) {
      const Rows place = Rows::of(of, walk.place());
      walk.next();
      const bool more = walk.more();
      const TileBias next = TileBias::of(self, of.bias, of.n, more ? walk.place().n : 0);
      for (int half = 0; half < 2; ++half) {
        wait_at(kFull + half);
        finish_half(place, half, result + half * kHalfBytes);
        if (!more) continue;
        next.leave(self, biases + half * kColumns);
        arrive_at(kEmpty + half);
      }
    }
  }

 private:
  static constexpr int kWarpRows = (kHalf + kFinishers - 1) / kFinishers;  ///< of a half
  static constexpr int kPair = 2;
  static_assert(kWarpRows % kPair == 0);

  /// A thread's chunks of a tile.
  struct Rows {
    int64_t first;  ///< element of the warp's first row of the tile
    int rows;       ///< of the tile inside c; none where the chunk is beside it
    int n;

    __device__ static Rows of(const GeluTiles& work, TilePlace tile) {
      const int warp = finisher(FinishingThread());
      const int i = tile.m * kRows, j = tile.n * kColumns + FinishingThread().lane() * kChunk;
      return {int64_t(i + warp) * work.n + j, j < work.n ? work.m - i : 0, work.n};
    }
    /// Returns the row of its half that is the warp's `i`th; the last may be behind the half.
    __device__ static int row(int i) { return i * kFinishers + finisher(FinishingThread()); }
    __device__ bool inside(int half, int i) const {
      return row(i) < kHalf && half * kHalf + row(i) < rows;
    }
    __device__ int64_t at(int half, int i) const {
      return first + int64_t((half * kHalf + i * kFinishers) * n);
    }
  };

  __device__ static uint4& chunk_at(bf16* base, int64_t element) {
    return *reinterpret_cast<uint4*>(base + element);
  }
  /// Zero behind the half.
  __device__ static uint4 left_chunk(const unsigned char* half, int row) {
    return row < kHalf
               ? *reinterpret_cast<const uint4*>(half + byte_of(row, FinishingThread().lane()))
               : uint4{};
  }

  __device__ __forceinline__ void finish_half(const Rows& place, int half,
                                              const unsigned char* left) const {
    for (int i = 0; i < kWarpRows; i += kPair) {
      uint4 chunk[kPair];
#pragma unroll
      for (int u = 0; u < kPair; ++u) chunk[u] = left_chunk(left, Rows::row(i + u));
#pragma unroll
      for (int u = 0; u < kPair; ++u) {
        const uint4 y = gelu_of_chunk(chunk[u]);
        if (!place.inside(half, i + u)) continue;
        chunk_at(of.aux, place.at(half, i + u)) = chunk[u];
        chunk_at(of.c, place.at(half, i + u)) = y;
      }
    }
  }
};

/// Takes a warp's rows of a tile in turns.
struct FinishGeluInTurns : GeluProductParts {
  static constexpr int kFinishRegisters = 136, kMultiplyRegisters = 184;

  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result,
                                        float* biases) const {
    of(FinishingThread(), walk, result, biases);
  }
};

template <class Finish>
bool run(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands) {
  return launch_lagged(stream, spec, operands,
                       Finish{{{.m = int(spec.m),
                                .n = int(spec.n),
                                .bias = static_cast<const bf16*>(operands.bias),
                                .aux = static_cast<bf16*>(operands.aux),
                                .c = static_cast<bf16*>(operands.c)}}});
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
