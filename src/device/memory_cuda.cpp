#include "src/device/cuda_status.hpp"
#include "src/device/memory.hpp"

namespace zero {

bool has_device_memory() { return true; }

std::byte* take_device_memory(int64_t bytes) {
  size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for the device's free memory");
  void* block = nullptr;
  const cudaError_t status = cudaMalloc(&block, size_t(bytes));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // it is told here, and must not meet the next caller
    refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit: ", free, " of ", total,
           " bytes of the device are free");
  }
  check_cuda(status, "taking device memory");
  check_cuda(cudaMemset(block, 0, size_t(bytes)), "clearing device memory");
  check_cuda(cudaDeviceSynchronize(), "clearing device memory");
  return static_cast<std::byte*>(block);
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
