#pragma once
/// A product whose results other warps finish. Two warp groups multiply tiles of 128 x 256, leave
/// each result in shared memory in bf16 and go on with the next tile. Main loop and pipeline are
/// CUTLASS's. Device code.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cutlass/cutlass.h>

#include <cute/tensor.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/pipeline/pipeline.hpp>

namespace zero::kernels::vendor::lagged {

using cute::_1, cutlass::layout::RowMajor;

inline constexpr int kRows = 128, kColumns = 256;  ///< of a tile
inline constexpr int kDepth = 32;                  ///< of a step along k
inline constexpr int kStages = 6;                  ///< steps that shared memory holds
inline constexpr int kGroup = 128;                 ///< threads of a warp group
inline constexpr int kHalf = 64;                   ///< rows that a warp group multiplies
inline constexpr int kCluster = 2;                 ///< blocks that share tiles of b
inline constexpr int kRowBytes = 2 * kColumns;
inline constexpr int kHalfBytes = kHalf * kRowBytes;
inline constexpr int kThreads = 3 * kGroup;
inline constexpr int kFinishers = 3;                ///< warps that finish
inline constexpr int kFinishing = kFinishers * 32;  ///< threads that finish
inline constexpr int kMeeting = kGroup + kFinishing;

using Element = cutlass::bfloat16_t;
using ResultShape = cute::Shape<cute::Int<kRows>, cute::Int<kColumns>>;
using ClusterShape = cute::Shape<cute::Int<kCluster>, _1, _1>;
using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, 8, Element, RowMajor, 8,
    float, cute::Shape<cute::Int<kRows>, cute::Int<kColumns>, cute::Int<kDepth>>, ClusterShape,
    cutlass::gemm::collective::StageCount<kStages>,
    cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Pipeline = Mainloop::MainloopPipeline;

struct Shared {
  alignas(1024) Mainloop::TensorStorage operands;
  alignas(1024) unsigned char result[2][kHalfBytes];
  alignas(16) float bias[2][kColumns];  ///< for each half
  alignas(16) Mainloop::PipelineStorage pipeline;
};

/// Tiles in bands of clusters, so that those at work together share rows of a and columns of b.
struct Tiles {
  int clusters_m, tiles_n;
  static constexpr int kBand = 8;

  __host__ __device__ int count() const { return clusters_m * tiles_n; }
  /// Returns {cluster along m, tile along n}.
  __device__ int2 operator[](int tile) const {
    const int whole = kBand * tiles_n, band = tile / whole, in_band = tile - band * whole;
    const int left = clusters_m - band * kBand, height = left < kBand ? left : kBand;
    return {band * kBand + in_band % height, in_band / height};
  }
};

/// A block's walk over its tiles; all its threads walk alike.
struct Walk {
  Tiles tiles;
  int tile = int(blockIdx.x) / kCluster;

  __device__ bool more() const { return tile < tiles.count(); }
  __device__ void next() { tile += int(gridDim.x) / kCluster; }
  /// Returns the tile's place in c: {tile along m, tile along n}.
  __device__ int2 place() const {
    const int2 at = tiles[tile];
    return {at.x * kCluster + int(cute::block_rank_in_cluster()), at.y};
  }
};

/// Barriers between a warp group that multiplies and the warps that finish, one for each half. The
/// hardware's barrier 0 is __syncthreads'.
enum Barrier : int { kFull = 1, kEmpty = 3 };

__device__ __forceinline__ void wait_at(int barrier) {
  __syncwarp();
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kMeeting) : "memory");
}
__device__ __forceinline__ void arrive_at(int barrier) {
  __syncwarp();
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kMeeting) : "memory");
}

/// Returns the byte of 16-byte chunk `chunk` of a row of a half. Rows are turned against each
/// other, so that eight of them meet in no bank.
__device__ __forceinline__ int byte_of(int row, int chunk) {
  return row * kRowBytes + ((chunk ^ (row & 7)) << 4);
}

__device__ __forceinline__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

/// Asks for the tiles of a and b, one step along k after the other.
__device__ __forceinline__ void load_tiles(const Mainloop::Params& params, Pipeline& pipeline,
                                           cute::Shape<int, int, int, int> problem, Walk walk,
                                           int steps, Shared& shared) {
  Mainloop mainloop;
  auto state = cutlass::make_producer_start_state<Pipeline>();
  const auto inputs = mainloop.load_init(problem, params);
  for (; walk.more(); walk.next()) {
    const int2 at = walk.place();
    mainloop.load(params, pipeline, state, inputs,
                  cute::make_coord(at.x, at.y, cute::Underscore{}, 0),
                  cute::make_coord_iterator(steps), steps, int(threadIdx.x % 32),
                  cute::block_rank_in_cluster(), shared.operands);
    state.advance(steps);
  }
  mainloop.load_tail(pipeline, state);
}

/// Adds the biases to the sums of a warp group's half and rounds them into `result`.
template <class Sums>
__device__ __forceinline__ void leave_half(const Sums& sums, const float* bias,
                                           unsigned char* result) {
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32 % 4);
  const int row = warp * 16 + (lane / 8 % 2) * 8 + lane % 8;
  const uint32_t base = cute::cast_smem_ptr_to_uint(result);
#pragma unroll
  for (int j = 0; j < kColumns / 8; j += 2) {
    uint32_t part[4];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const auto add = *reinterpret_cast<const float2*>(bias + (j + side) * 8 + lane % 4 * 2);
      const int at = 4 * (j + side);
      part[2 * side] = packed(sums(at) + add.x, sums(at + 1) + add.y);
      part[2 * side + 1] = packed(sums(at + 2) + add.x, sums(at + 3) + add.y);
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     base + uint32_t(byte_of(row, j + lane / 16))),
                 "r"(part[0]), "r"(part[1]), "r"(part[2]), "r"(part[3])
                 : "memory");
  }
}

__device__ __forceinline__ void multiply_tiles(const Mainloop::Params& params, Pipeline& pipeline,
                                               Walk walk, int steps, Shared& shared) {
  Mainloop mainloop;
  Mainloop::PipelineState state;
  const int half = int(threadIdx.x) / kGroup - 1;
  for (; walk.more(); walk.next()) {
    auto sums = cute::partition_fragment_C(Mainloop::TiledMma{}, ResultShape{});
    mainloop.mma(pipeline, state, sums, steps, int(threadIdx.x) - kGroup, shared.operands, params);
    mainloop.mma_tail(pipeline, state, steps);
    state.advance(steps);
    wait_at(kEmpty + half);
    leave_half(sums, shared.bias[half], shared.result[half]);
    arrive_at(kFull + half);
  }
}

}  // namespace zero::kernels::vendor::lagged
