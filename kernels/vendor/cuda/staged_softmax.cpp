#include "kernels/vendor/staged_softmax.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/support/staged_softmax.hpp"
#include "zero/base/dtype.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/device/space.hpp"

namespace zero::kernels::vendor {
namespace {

extern __shared__ float staged_memory[];

/// A thread of one of the blocks that stay.
class StagingThread {
 public:
  __device__ int64_t index() const { return blockIdx.x; }
  __device__ int64_t blocks() const { return gridDim.x; }
  __device__ float* shared() const { return staged_memory; }
  __device__ int thread() const { return int(threadIdx.x); }
  __device__ int warp() const { return thread() / kWarpLanes; }
  __device__ int lane() const { return thread() % kWarpLanes; }
  __device__ void sync() const { __syncthreads(); }
  __device__ void meet_warp() const { __syncwarp(); }
  template <class Value>
  __device__ Value shuffle(Value value, int source) const {
    return __shfl_sync(0xffffffffu, value, source);
  }
  /// Of 16 bytes.
  __device__ void copy_async(void* to, const void* from, size_t) const {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
  }
  __device__ void commit_copies() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int kPending>
  __device__ void wait_copies() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  }
};

template <class Code>
__global__ void __launch_bounds__(Code::kThreads, 1) staged_kernel(Code code) {
  code(StagingThread());
}

int64_t attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_gpu(cudaGetDevice(&device), "asking for the device");
  check_gpu(cudaDeviceGetAttribute(&value, which, device), "asking what a device is");
  return value;
}

}  // namespace

bool stages_rows(int64_t padded_vocabulary) {
  static const int64_t bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return StagedSoftmax<float>::shared_numel(padded_vocabulary) * int64_t(sizeof(float)) <= bytes;
}

template <class T>
void staged_softmax(const Stream& stream, int64_t rows, const HeldRow<T>& row) {
  using Code = StagedSoftmax<T>;
  static const int64_t processors = attribute(cudaDevAttrMultiProcessorCount);
  const auto bytes = int(Code::shared_numel(row.logits.padded_vocabulary) * int64_t(sizeof(float)));
  // Beyond 48 KiB a kernel asks for its shared memory; asking costs a microsecond.
  check_gpu(
      cudaFuncSetAttribute(staged_kernel<Code>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
      "asking for shared memory");
  const LaunchCheck check;
  staged_kernel<<<unsigned(std::min(rows, processors)), Code::kThreads, size_t(bytes),
                  native_stream(stream)>>>(Code{row, rows});
  check.require_taken("zero::softmax_xent");
}

template void staged_softmax(const Stream&, int64_t, const HeldRow<float>&);
template void staged_softmax(const Stream&, int64_t, const HeldRow<bf16>&);
template void staged_softmax(const Stream&, int64_t, const HeldRow<f16>&);

}  // namespace zero::kernels::vendor
