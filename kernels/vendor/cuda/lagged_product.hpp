#pragma once
/// A product whose results other warps finish. Two warp groups multiply tiles of 128 x 256, leave
/// each result in shared memory in bf16 and go on with the next tile, while three warps finish it.
/// Main loop and pipeline are CUTLASS's. Device code, but for launch_lagged().

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cutlass.h>

#include <algorithm>
#include <cute/tensor.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/pipeline/pipeline.hpp>

#include "kernels/vendor/gemm.hpp"
#include "kernels/vendor/lagged_block.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor::lagged {

using cute::_1, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor;

inline constexpr int kDepth = 32;  ///< of a step along k
inline constexpr int kStages = 6;  ///< steps that shared memory holds

using Element = cutlass::bfloat16_t;
using ResultShape = cute::Shape<cute::Int<kRows>, cute::Int<kColumns>>;
using ClusterShape = cute::Shape<cute::Int<kCluster>, _1, _1>;

/// The types of a kernel with this finish. Finish::Weights is the layout of the weights b: RowMajor
/// [k, n], or ColumnMajor, that is [n, k]. Finish::kBeside counts the floats beside the results.
template <class Finish>
struct Parts {
  using Weights = Finish::Weights;
  using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, 8, Element, Weights,
      8, float, cute::Shape<cute::Int<kRows>, cute::Int<kColumns>, cute::Int<kDepth>>, ClusterShape,
      cutlass::gemm::collective::StageCount<kStages>,
      cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
  using Pipeline = Mainloop::MainloopPipeline;
  using Params = Mainloop::Params;

  struct Shared {
    alignas(1024) Mainloop::TensorStorage operands;
    alignas(1024) unsigned char result[2 * kHalfBytes];
    alignas(16) float beside[Finish::kBeside];
    alignas(16) Mainloop::PipelineStorage pipeline;
  };

  static Params params_of(const GemmSpec& spec, const GemmOperands& operands) {
    typename Mainloop::StrideB stride_b{};
    cute::get<std::is_same_v<Weights, RowMajor> ? 1 : 0>(stride_b) = spec.ldb;
    return Mainloop::to_underlying_arguments(
        cute::make_shape(int(spec.m), int(spec.n), int(spec.k), 1),
        {static_cast<const Element*>(operands.a),
         {spec.lda, _1{}, int64_t(0)},
         static_cast<const Element*>(operands.b),
         stride_b},
        nullptr);
  }
};

/// Tiles in bands of clusters, so that those at work together share rows of a and columns of b.
struct Tiles {
  int clusters_m, tiles_n;
  static constexpr int kBand = 8;

  __host__ __device__ int count() const { return clusters_m * tiles_n; }
  /// Returns {cluster along m, tile along n}.
  __device__ TilePlace operator[](int tile) const {
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
  /// Returns the tile's place in c.
  __device__ TilePlace place() const {
    const TilePlace at = tiles[tile];
    return {at.m * kCluster + int(cute::block_rank_in_cluster()), at.n};
  }
};

__device__ __forceinline__ void wait_at(int barrier, int threads = kMeeting) {
  __syncwarp();
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_at(int barrier) {
  __syncwarp();
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kMeeting) : "memory");
}

__device__ __forceinline__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}
/// Asks for the tiles of a and b, one step along k after the other.
template <class P>
__device__ __forceinline__ void load_tiles(const typename P::Params& params,
                                           typename P::Pipeline& pipeline,
                                           cute::Shape<int, int, int, int> problem, Walk walk,
                                           int steps, typename P::Shared& shared) {
  typename P::Mainloop mainloop;
  auto state = cutlass::make_producer_start_state<typename P::Pipeline>();
  const auto inputs = mainloop.load_init(problem, params);
  for (; walk.more(); walk.next()) {
    const TilePlace at = walk.place();
    mainloop.load(params, pipeline, state, inputs,
                  cute::make_coord(at.m, at.n, cute::Underscore{}, 0),
                  cute::make_coord_iterator(steps), steps, int(threadIdx.x % 32),
                  cute::block_rank_in_cluster(), shared.operands);
    state.advance(steps);
  }
  mainloop.load_tail(pipeline, state);
}

/// Adds biases, unless they are null, to the sums of a warp group's half and rounds them into
/// `result`.
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
      float2 add{};
      if (bias != nullptr)
        add = *reinterpret_cast<const float2*>(bias + (j + side) * 8 + lane % 4 * 2);
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

template <class P, bool kBias>
__device__ __forceinline__ void multiply_tiles(const typename P::Params& params,
                                               typename P::Pipeline& pipeline, Walk walk, int steps,
                                               typename P::Shared& shared) {
  typename P::Mainloop mainloop;
  typename P::Mainloop::PipelineState state;
  const int half = int(threadIdx.x) / kGroup - 1;
  for (; walk.more(); walk.next()) {
    auto sums = cute::partition_fragment_C(typename P::Mainloop::TiledMma{}, ResultShape{});
    mainloop.mma(pipeline, state, sums, steps, int(threadIdx.x) - kGroup, shared.operands, params);
    mainloop.mma_tail(pipeline, state, steps);
    state.advance(steps);
    wait_at(kEmpty + half);
    leave_half(sums, kBias ? shared.beside + half * kColumns : nullptr,
               shared.result + half * kHalfBytes);
    arrive_at(kFull + half);
  }
}

/// The first warp loads, the other three of its group finish, two groups multiply. A Finish has the
/// extents of.m and of.n, what Parts asks for, kAddsBias, the registers of a thread of each kind,
/// with which three groups have 168 a thread between them, and finish.tiles(walk, result, beside),
/// by which finishing warps go over all tiles.
template <class Finish>
__global__ void __launch_bounds__(kThreads, 1)
    lagged_kernel(const __grid_constant__ typename Parts<Finish>::Params params,
                  const __grid_constant__ Finish finish, const Tiles tiles, const int k) {
  using P = Parts<Finish>;
  using Pipeline = P::Pipeline;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<P::Shared*>(memory);
  const int group = cutlass::canonical_warp_group_idx(), warp = cutlass::canonical_warp_idx_sync();
  if (warp == 0 && cute::elect_one_sync()) P::Mainloop::prefetch_tma_descriptors(params);
  typename Pipeline::Params how;
  how.role = warp == 0   ? Pipeline::ThreadCategory::Producer
             : group > 0 ? Pipeline::ThreadCategory::Consumer
                         : Pipeline::ThreadCategory::NonParticipant;
  how.is_leader = threadIdx.x == 0;
  how.num_consumers = 2 * kGroup;
  how.transaction_bytes = params.tma_transaction_bytes;
  Pipeline pipeline(shared.pipeline, how, ClusterShape{});
  cute::cluster_arrive();
  cute::cluster_wait();
  const Walk walk{tiles};
  const int steps = (k + kDepth - 1) / kDepth;
  if (group == 0) {
    cutlass::arch::warpgroup_reg_dealloc<Finish::kFinishRegisters>();
    if (warp == 0) {
      load_tiles<P>(params, pipeline, {finish.of.m, finish.of.n, k, 1}, walk, steps, shared);
    } else {
      finish.tiles(walk, shared.result, shared.beside);
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<Finish::kMultiplyRegisters>();
    multiply_tiles<P, Finish::kAddsBias>(params, pipeline, walk, steps, shared);
  }
}

inline cudaLaunchConfig_t config_of(cudaLaunchAttribute& cluster, int clusters, size_t bytes,
                                    cudaStream_t stream) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(kCluster * clusters));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

/// Returns the clusters that the device runs at once. It may be so small a part of a GPU that it
/// runs none.
template <class Finish>
int clusters_at_once(size_t bytes) {
  cudaLaunchAttribute cluster{};
  const auto config = config_of(cluster, 1, bytes, nullptr);
  int count = 0;
  check_gpu(cudaFuncSetAttribute(lagged_kernel<Finish>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 int(bytes)),
            "asking for shared memory");
  check_gpu(cudaOccupancyMaxActiveClusters(&count, lagged_kernel<Finish>, &config),
            "asking for a kernel's clusters");
  return count;
}

/// Multiplies and finishes. Returns false, with nothing queued, if the device runs no cluster.
/// Asynchronous on `stream`.
template <class Finish>
bool launch_lagged(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands,
                   const Finish& finish) {
  using P = Parts<Finish>;
  constexpr size_t kBytes = sizeof(typename P::Shared);
  static const int most = clusters_at_once<Finish>(kBytes);
  const Tiles tiles{(finish.of.m + kCluster * kRows - 1) / (kCluster * kRows),
                    (finish.of.n + kColumns - 1) / kColumns};
  const int clusters = std::min(most, tiles.count());
  if (clusters == 0) return false;
  cudaLaunchAttribute cluster{};
  const auto config = config_of(cluster, clusters, kBytes, stream);
  check_gpu(cudaLaunchKernelEx(&config, lagged_kernel<Finish>, P::params_of(spec, operands), finish,
                               tiles, int(spec.k)),
            "starting a product");
  return true;
}

}  // namespace zero::kernels::vendor::lagged
