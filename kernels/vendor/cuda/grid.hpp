#pragma once
/// Blocks of threads that are started without Kokkos, for the templates of kernels/support.

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "kernels/support/warp_runs.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/space.hpp"

namespace zero::kernels::vendor {

extern __shared__ float4 grid_memory[];

class GridThread {
 public:
  __device__ int64_t index() const { return blockIdx.x; }
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int warp() const { return thread() / kWarpLanes; }
  __device__ int lane() const { return thread() % kWarpLanes; }
  __device__ float* shared() const { return reinterpret_cast<float*>(grid_memory); }
  __device__ void sync() const { __syncthreads(); }
  template <class Value>
  __device__ Value shuffle(Value value, int source) const {
    return __shfl_sync(0xffffffffu, value, source);
  }
  /// Keeps the compiler from holding a value in another form.
  template <class Value>
  __device__ void keep_as_it_is(Value& value) const {
    unsigned* const word = reinterpret_cast<unsigned*>(&value);
    for (size_t i = 0; i < sizeof(Value) / sizeof(unsigned); ++i) asm volatile("" : "+r"(word[i]));
  }
  /// Copies device memory to shared memory; done once the thread has waited for the copy's group.
  /// REQUIRES: addresses and `bytes` are multiples of 16.
  __device__ void copy_async(void* to, const void* from, size_t bytes) const {
    for (size_t at = 0; at < bytes; at += 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       unsigned(__cvta_generic_to_shared(static_cast<char*>(to) + at))),
                   "l"(static_cast<const char*>(from) + at)
                   : "memory");
    }
  }
  /// Makes a group of this thread's copies since the last call.
  __device__ void commit_copies() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  /// Blocks until at most kPending groups of this thread, the youngest, are under way.
  template <int kPending>
  __device__ void wait_copies() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  }
};

template <int kMostThreads, int kLeastBlocks, class Code>
__global__ void __launch_bounds__(kMostThreads, kLeastBlocks) grid_kernel(const Code code) {
  code(GridThread());
}

struct Grid {
  int64_t blocks;
  int threads;           ///< threads of a block, at most the kernel's kMostThreads
  int64_t shared_numel;  ///< floats that a block's threads share
};

/// Calls code(thread) on every thread of the grid. Asynchronous on `stream`. Throws Error with the
/// label if the device refuses the kernel.
///   kLeastBlocks  blocks at once that a multiprocessor has registers for
template <int kMostThreads, int kLeastBlocks, class Code>
void launch_grid(const Stream& stream, const std::string& label, const Grid& grid,
                 const Code& code) {
  const auto kernel = grid_kernel<kMostThreads, kLeastBlocks, Code>;
  const auto bytes = int(grid.shared_numel * int64_t(sizeof(float)));
  // Beyond 48 KiB a kernel asks for its shared memory. Blocks then share all that there is.
  check_gpu(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            label);
  if (bytes > 0) {
    check_gpu(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared),
              label);
  }
  const LaunchCheck check;
  kernel<<<unsigned(grid.blocks), unsigned(grid.threads), size_t(bytes), native_stream(stream)>>>(
      code);
  check.require_taken(label);
}

}  // namespace zero::kernels::vendor
