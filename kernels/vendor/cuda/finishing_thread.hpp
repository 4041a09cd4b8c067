#pragma once
/// A thread of a GPU as kernels/vendor/lagged_block.hpp wants it. Device code.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "kernels/vendor/cuda/fast_gelu.hpp"
#include "kernels/vendor/cuda/lagged_product.hpp"

namespace zero::kernels::vendor::lagged {

class FinishingThread {
 public:
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int warp() const { return thread() / kWarpLanes; }
  __device__ int lane() const { return thread() % kWarpLanes; }

  __device__ __forceinline__ void meet(int barrier, int threads) const {
    wait_at(barrier, threads);
  }
  __device__ __forceinline__ void arrive(int barrier, int) const { arrive_at(barrier); }

  __device__ __forceinline__ Chunk read(const unsigned char* at) const {
    return chunk_of(*reinterpret_cast<const uint4*>(at));
  }
  __device__ __forceinline__ Chunk read_once(const bf16* at) const {
    return chunk_of(__ldcs(reinterpret_cast<const uint4*>(at)));
  }
  /// Writes a chunk in one store. nvcc may make four of an assignment to a uint4.
  __device__ __forceinline__ void write(bf16* at, const Chunk& chunk) const {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(at)),
                 "r"(chunk.pair[0]), "r"(chunk.pair[1]), "r"(chunk.pair[2]), "r"(chunk.pair[3])
                 : "memory");
  }

  __device__ __forceinline__ float gelu(float x) const { return fast_gelu(x); }
  __device__ __forceinline__ float gelu_slope(float x) const { return fast_gelu_slope(x); }
  __device__ __forceinline__ uint32_t rounded(float low, float high) const {
    return packed(low, high);
  }

 private:
  __device__ __forceinline__ static Chunk chunk_of(const uint4& words) {
    return {{words.x, words.y, words.z, words.w}};
  }
};

}  // namespace zero::kernels::vendor::lagged
