#include <cuda_runtime.h>

#include <cmath>

#include "kernels/vendor/attention_backward_block.hpp"
#include "kernels/vendor/attention_block.hpp"
#include "kernels/vendor/cuda/attention.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/space.hpp"

namespace zero::kernels::vendor {
namespace {

extern __shared__ float shared_memory[];

/// A thread of a GPU, for kernels/vendor/attention_block.hpp.
class CudaBlockThread {
 public:
  __device__ int64_t index() const { return blockIdx.x; }
  __device__ float* shared() const { return shared_memory; }
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int warp() const { return thread() / kWarpLanes; }
  __device__ int lane() const { return thread() % kWarpLanes; }
  __device__ void sync() const { __syncthreads(); }
  __device__ float shuffle(float value, int source) const {
    return __shfl_sync(0xffffffffu, value, source);
  }
};

template <class T, int kParts>
__global__ void __launch_bounds__(kAttentionThreads)
    forward_kernel(AttentionLaunch launch, AttentionArrays<T> arrays) {
  const CudaBlockThread block;
  AttentionForward<T, kParts, CudaBlockThread>(block, launch, arrays).run();
}

template <class T, int kParts>
__global__ void __launch_bounds__(kAttentionThreads)
    query_gradient_kernel(AttentionLaunch launch, AttentionGradArrays<T> arrays) {
  attention_query_gradient<T, kParts>(CudaBlockThread(), launch, arrays);
}

template <class T, int kParts>
__global__ void __launch_bounds__(kAttentionThreads)
    key_gradient_kernel(AttentionLaunch launch, AttentionGradArrays<T> arrays) {
  attention_key_gradient<T, kParts>(CudaBlockThread(), launch, arrays);
}

template <class T>
__global__ void __launch_bounds__(kAttentionThreads)
    bias_gradient_kernel(AttentionLaunch launch, AttentionGradArrays<T> arrays) {
  attention_bias_gradient<T>(CudaBlockThread(), launch, arrays);
}

template <class Arrays>
using Kernel = void (*)(AttentionLaunch, Arrays);

/// The blocks of a launch, and the fp32 elements of shared memory of each.
struct Grid {
  int64_t blocks, shared_numel;
};

template <class Arrays>
void start(Stream& stream, Kernel<Arrays> kernel, const Grid& grid, const AttentionLaunch& launch,
           const Arrays& arrays) {
  const int bytes = int(grid.shared_numel * int64_t(sizeof(float)));
  // Beyond 48 KiB a kernel asks for its shared memory; asking costs a microsecond.
  check_gpu(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "asking for shared memory");
  const LaunchCheck check;
  kernel<<<unsigned(grid.blocks), kAttentionThreads, size_t(bytes), native_stream(stream)>>>(
      launch, arrays);
  check.require_taken("attention");
}

/// Calls with<kParts>() for the least number of parts that the head fits.
template <class With>
void with_parts(int64_t head_width, const With& with) {
  if (head_width <= 32) return with.template operator()<1>();
  if (head_width <= 64) return with.template operator()<2>();
  if (head_width <= 128) return with.template operator()<4>();
  with.template operator()<8>();
}

}  // namespace

template <class T>
void own_attention(Stream& stream, const AttentionLaunch& launch,
                   const AttentionArrays<T>& arrays) {
  const AttentionExtents& extents = launch.extents;
  const Grid grid{attention_blocks(extents, Own::queries),
                  attention_shared_numel(extents.head_width, false)};
  with_parts(extents.head_width, [&]<int kParts>() {
    start<AttentionArrays<T>>(stream, forward_kernel<T, kParts>, grid, launch, arrays);
  });
}

template <class T>
void own_attention_backward(Stream& stream, const AttentionLaunch& launch,
                            const AttentionGradArrays<T>& arrays) {
  using Arrays = AttentionGradArrays<T>;
  const AttentionExtents& extents = launch.extents;
  const int64_t numel = attention_shared_numel(extents.head_width, true);
  const Grid queries{attention_blocks(extents, Own::queries),
                     numel + (extents.biased ? kScoreTileNumel : 0)};
  const Grid keys{attention_blocks(extents, Own::keys), numel};
  with_parts(extents.head_width, [&]<int kParts>() {
    start<Arrays>(stream, query_gradient_kernel<T, kParts>, queries, launch, arrays);
    start<Arrays>(stream, key_gradient_kernel<T, kParts>, keys, launch, arrays);
  });
  if (!extents.biased) return;
  start<Arrays>(stream, bias_gradient_kernel<T>, {bias_gradient_blocks(extents), 0}, launch,
                arrays);
}

template void own_attention(Stream&, const AttentionLaunch&, const AttentionArrays<float>&);
template void own_attention(Stream&, const AttentionLaunch&, const AttentionArrays<bf16>&);
template void own_attention(Stream&, const AttentionLaunch&, const AttentionArrays<f16>&);
template void own_attention_backward(Stream&, const AttentionLaunch&,
                                     const AttentionGradArrays<float>&);
template void own_attention_backward(Stream&, const AttentionLaunch&,
                                     const AttentionGradArrays<bf16>&);
template void own_attention_backward(Stream&, const AttentionLaunch&,
                                     const AttentionGradArrays<f16>&);

}  // namespace zero::kernels::vendor
