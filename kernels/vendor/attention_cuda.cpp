#include <cuda_runtime.h>

#include <cmath>

#include "kernels/vendor/attention_backward_block.hpp"
#include "kernels/vendor/attention_block.hpp"
#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

extern __shared__ float shared_memory[];

/// A thread of a GPU, as kernels/vendor/attention_block.hpp wants it.
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

template <class Arrays>
using Kernel = void (*)(AttentionLaunch, Arrays);

template <class Arrays>
void start(Stream& stream, Kernel<Arrays> kernel, bool backward, const AttentionLaunch& launch,
           const Arrays& arrays) {
  const int64_t numel = attention_shared_numel(launch.extents.head_width, backward);
  const int bytes = int(numel * int64_t(sizeof(float)));
  // Beyond 48 KiB a kernel asks for its shared memory; asking costs a microsecond.
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "asking for shared memory");
  kernel<<<unsigned(attention_blocks(launch.extents)), kAttentionThreads, size_t(bytes),
           native_stream(stream)>>>(launch, arrays);
  check_cuda(cudaGetLastError(), "starting attention");
}

/// Calls with<kParts>() for the least number of parts that the head fits.
template <class With>
void with_parts(int64_t head_width, const With& with) {
  if (head_width <= 32) return with.template operator()<1>();
  if (head_width <= 64) return with.template operator()<2>();
  if (head_width <= 128) return with.template operator()<4>();
  with.template operator()<8>();
}

void check(const AttentionExtents& extents, const DropoutSite& site) {
  ZERO_REQUIRE(
      extents.samples > 0 && extents.length > 0 && extents.heads > 0 && extents.head_width > 0,
      "attention over ", extents.samples, " samples of ", extents.length, " tokens with ",
      extents.heads, " heads of ", extents.head_width, ": all must be at least 1");
  ZERO_REQUIRE(site.probability >= 0.0f && site.probability < 1.0f, "dropout probability ",
               site.probability, ": choose one in [0, 1)");
  if (extents.head_width > kHeadWidthMost) {
    refuse(Exit::kUsage, "heads of ", extents.head_width, ": attention on a GPU takes at most ",
           kHeadWidthMost, " - choose more heads");
  }
}

}  // namespace
}  // namespace vendor

int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype, int) {
  return extents.samples * extents.heads * extents.length * int64_t(sizeof(float));
}

template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  vendor::check(extents, site);
  vendor::with_parts(extents.head_width, [&]<int kParts>() {
    vendor::start<AttentionArrays<T>>(stream, vendor::forward_kernel<T, kParts>, false,
                                      {extents, site, inputs}, arrays);
  });
}

template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays) {
  vendor::check(extents, site);
  vendor::with_parts(extents.head_width, [&]<int kParts>() {
    const vendor::AttentionLaunch launch{extents, site, inputs};
    using Arrays = AttentionGradArrays<T>;
    vendor::start<Arrays>(stream, vendor::query_gradient_kernel<T, kParts>, true, launch, arrays);
    vendor::start<Arrays>(stream, vendor::key_gradient_kernel<T, kParts>, true, launch, arrays);
  });
}

template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<float>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<bf16>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<f16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<float>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<bf16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<f16>&);

}  // namespace zero::kernels
