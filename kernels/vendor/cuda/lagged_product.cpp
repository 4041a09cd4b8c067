// The lagged product: warps that finish its tiles with GELU, and its launch.

#include "kernels/vendor/cuda/lagged_product.hpp"

#include <cuda_runtime.h>
#include <cutlass/arch/reg_reconfig.h>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

using namespace lagged;

constexpr int kWarpRows = (kHalf + kFinishers - 1) / kFinishers;  ///< of a half, for each warp
constexpr int kAtOnce = 2;  ///< rows on which a warp works at once
static_assert(kWarpRows % kAtOnce == 0);

/// The registers of a thread of each kind. Three groups start with 168.
constexpr int kFinishRegisters = 120, kMultiplyRegisters = 192;

/// The arrays of a launch.
struct Finish {
  int m, n;
  const __nv_bfloat16* bias;  ///< [n]
  __nv_bfloat16* aux;         ///< [m, n]
  __nv_bfloat16* c;           ///< [m, n]
};

/// A finishing thread's number. It has one chunk of eight columns of each row of its warp.
struct Seat {
  int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32) - 1;
  int index = int(threadIdx.x) - 32;
};

/// The biases of a tile on their way into shared memory.
struct TileBias {
  static constexpr int kEach = (kColumns + kFinishing - 1) / kFinishing;
  float at[kEach];

  __device__ static TileBias of(const Finish& work, int tile_n) {
    TileBias made;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = tile_n * kColumns + i * kFinishing + Seat().index;
      made.at[i] = column < work.n ? __bfloat162float(work.bias[column]) : 0.0f;
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

/// Where a finishing thread's chunks of a tile lie in c. Its warp has every third row of a half.
struct Place {
  int64_t first;  ///< element of the warp's first row of the tile
  int rows;       ///< of the tile inside c; none where the chunk is beside it
  int n;

  __device__ static Place of(const Finish& work, int2 tile) {
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

__device__ __forceinline__ uint4& chunk_at(__nv_bfloat16* base, int64_t element) {
  return *reinterpret_cast<uint4*>(base + element);
}
/// Zero behind the half.
__device__ __forceinline__ uint4 left_chunk(const unsigned char* half, int row) {
  return row < kHalf ? *reinterpret_cast<const uint4*>(half + byte_of(row, Seat().lane)) : uint4{};
}

__device__ __forceinline__ uint32_t gelu_of_pair(uint32_t pair) {
  return packed(fast_gelu(__uint_as_float(pair << 16)),
                fast_gelu(__uint_as_float(pair & 0xffff0000u)));
}
__device__ __forceinline__ uint4 gelu_of_chunk(const uint4& chunk) {
  return {gelu_of_pair(chunk.x), gelu_of_pair(chunk.y), gelu_of_pair(chunk.z),
          gelu_of_pair(chunk.w)};
}

__device__ __forceinline__ void finish_half(const Finish& work, const Place& place, int half,
                                            const unsigned char* result) {
  for (int i = 0; i < kWarpRows; i += kAtOnce) {
    uint4 chunk[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) chunk[u] = left_chunk(result, Place::row(i + u));
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const uint4 y = gelu_of_chunk(chunk[u]);
      if (!place.inside(half, i + u)) continue;
      chunk_at(work.aux, place.at(half, i + u)) = chunk[u];
      chunk_at(work.c, place.at(half, i + u)) = y;
    }
  }
}

/// Gives biases to the warp groups that multiply and takes results from them. A warp group waits
/// before its next result, and not earlier, until this one's half has been read.
__device__ __forceinline__ void finish_tiles(const Finish& work, Walk walk, Shared& shared) {
  if (!walk.more()) return;
  const TileBias first = TileBias::of(work, walk.place().y);
  for (int half = 0; half < 2; ++half) {
    first.leave(shared.bias[half]);
    arrive_at(kEmpty + half);
  }
  while (walk.more()) {
    const Place place = Place::of(work, walk.place());
    walk.next();
    const bool more = walk.more();
    const TileBias next = TileBias::of(work, more ? walk.place().y : 0);
    for (int half = 0; half < 2; ++half) {
      wait_at(kFull + half);
      finish_half(work, place, half, shared.result[half]);
      if (!more) continue;
      next.leave(shared.bias[half]);
      arrive_at(kEmpty + half);
    }
  }
}

/// The first warp loads, the other three of its group finish, two groups multiply.
__global__ void __launch_bounds__(kThreads, 1)
    lagged_kernel(const __grid_constant__ Mainloop::Params params, const Finish work,
                  const Tiles tiles, const int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const int group = cutlass::canonical_warp_group_idx(), warp = cutlass::canonical_warp_idx_sync();
  if (warp == 0 && cute::elect_one_sync()) Mainloop::prefetch_tma_descriptors(params);
  Pipeline::Params how;
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
    cutlass::arch::warpgroup_reg_dealloc<kFinishRegisters>();
    if (warp == 0) {
      load_tiles(params, pipeline, {work.m, work.n, k, 1}, walk, steps, shared);
    } else {
      finish_tiles(work, walk, shared);
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<kMultiplyRegisters>();
    multiply_tiles(params, pipeline, walk, steps, shared);
  }
}

cudaLaunchConfig_t config_of(cudaLaunchAttribute& cluster, int clusters, cudaStream_t stream) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(kCluster * clusters));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = sizeof(Shared);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

/// Returns the clusters that the device runs at once. It may be so small a part of a GPU that it
/// runs none.
int clusters_at_once() {
  static const int most = [] {
    cudaLaunchAttribute cluster{};
    const auto config = config_of(cluster, 1, nullptr);
    int count = 0;
    check_gpu(cudaFuncSetAttribute(lagged_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   int(config.dynamicSmemBytes)),
              "asking for shared memory");
    check_gpu(cudaOccupancyMaxActiveClusters(&count, lagged_kernel, &config),
              "asking for a kernel's clusters");
    return count;
  }();
  return most;
}

Mainloop::Params params_of(const GemmSpec& spec, const GemmOperands& operands) {
  Mainloop::StrideB stride_b{};
  cute::get<1>(stride_b) = spec.ldb;
  return Mainloop::to_underlying_arguments(
      cute::make_shape(int(spec.m), int(spec.n), int(spec.k), 1),
      {static_cast<const Element*>(operands.a),
       {spec.lda, _1{}, int64_t(0)},
       static_cast<const Element*>(operands.b),
       stride_b},
      nullptr);
}

}  // namespace

bool run_lagged_product(cudaStream_t stream, const GemmSpec& spec, const GemmOperands& operands) {
  const int m = int(spec.m), n = int(spec.n);
  const Finish work{.m = m,
                    .n = n,
                    .bias = static_cast<const __nv_bfloat16*>(operands.bias),
                    .aux = static_cast<__nv_bfloat16*>(operands.aux),
                    .c = static_cast<__nv_bfloat16*>(operands.c)};
  const Tiles tiles{(m + kCluster * kRows - 1) / (kCluster * kRows), (n + kColumns - 1) / kColumns};
  const int clusters = std::min(clusters_at_once(), tiles.count());
  if (clusters == 0) return false;
  cudaLaunchAttribute cluster{};
  const auto config = config_of(cluster, clusters, stream);
  check_gpu(cudaLaunchKernelEx(&config, lagged_kernel, params_of(spec, operands), work, tiles,
                               int(spec.k)),
            "starting a product");
  return true;
}

}  // namespace zero::kernels::vendor
