#include "src/device/cuda_status.hpp"
#include "src/device/memory.hpp"

namespace zero {

bool has_device_memory() { return true; }

void refuse_device_memory(int64_t bytes, const std::string& more) {
  static_cast<void>(cudaGetLastError());  // it is told here, and must not meet the next caller
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's free memory");
  refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit: ", free, " of ", total,
         " bytes of the device are free", more);
}

std::byte* take_device_memory(int64_t bytes) {
  void* block = nullptr;
  const cudaError_t status = cudaMalloc(&block, size_t(bytes));
  if (status == cudaErrorMemoryAllocation) refuse_device_memory(bytes, "");
  check_cuda(status, "taking device memory");
  clear_device_memory(static_cast<std::byte*>(block), bytes);
  return static_cast<std::byte*>(block);
}

/// On a stream of its own: to wait for all of the device would spoil what another thread records.
void clear_device_memory(std::byte* block, int64_t bytes) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "clearing device memory");
  const cudaError_t queued = cudaMemsetAsync(block, 0, size_t(bytes), stream);
  const cudaError_t done = cudaStreamSynchronize(stream);
  warn_cuda(cudaStreamDestroy(stream), "ending a stream");
  check_cuda(queued, "clearing device memory");
  check_cuda(done, "clearing device memory");
}

void give_device_memory(std::byte* block) noexcept {
  warn_cuda(cudaFree(block), "giving device memory back");
}

void pin_memory(std::byte* block, int64_t bytes) {
  const cudaError_t status =
      cudaHostRegister(block, size_t(bytes), cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  refuse(Exit::kDoesNotFit, bytes,
         " bytes of host memory cannot be pinned for the device: ", cudaGetErrorString(status),
         " - keep less in host memory, or allow more (ulimit -l)");
}

void unpin_memory(std::byte* block) noexcept {
  warn_cuda(cudaHostUnregister(block), "giving pinned memory back");
}

}  // namespace zero
