#include "src/device/memory.hpp"

#include "zero/device/gpu_runtime.hpp"

namespace zero {

bool has_device_memory() { return true; }

void refuse_device_memory(int64_t bytes, const std::string& more) {
  static_cast<void>(gpuGetLastError());  // it is told here, and must not meet the next caller
  size_t free = 0, total = 0;
  check_gpu(gpuMemGetInfo(&free, &total), "asking for the device's free memory");
  refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit: ", free, " of ", total,
         " bytes of the device are free", more);
}

std::byte* take_device_memory(int64_t bytes) {
  void* block = nullptr;
  const gpuError_t status = gpuMalloc(&block, size_t(bytes));
  if (status == gpuErrorMemoryAllocation) refuse_device_memory(bytes, "");
  check_gpu(status, "taking device memory");
  clear_device_memory(static_cast<std::byte*>(block), bytes);
  return static_cast<std::byte*>(block);
}

/// On a stream of its own: to wait for all of the device would spoil what another thread records.
void clear_device_memory(std::byte* block, int64_t bytes) {
  gpuStream_t stream = nullptr;
  check_gpu(gpuStreamCreateWithFlags(&stream, gpuStreamNonBlocking), "clearing device memory");
  const gpuError_t queued = gpuMemsetAsync(block, 0, size_t(bytes), stream);
  const gpuError_t done = gpuStreamSynchronize(stream);
  warn_gpu(gpuStreamDestroy(stream), "ending a stream");
  check_gpu(queued, "clearing device memory");
  check_gpu(done, "clearing device memory");
}

void give_device_memory(std::byte* block) noexcept {
  warn_gpu(gpuFree(block), "giving device memory back");
}

void pin_memory(std::byte* block, int64_t bytes) {
  const gpuError_t status =
      gpuHostRegister(block, size_t(bytes), gpuHostRegisterPortable | gpuHostRegisterMapped);
  if (status == gpuSuccess) return;
  static_cast<void>(gpuGetLastError());
  refuse(Exit::kDoesNotFit, bytes,
         " bytes of host memory cannot be pinned for the device: ", gpuGetErrorString(status),
         " - keep less in host memory, or allow more (ulimit -l)");
}

void unpin_memory(std::byte* block) noexcept {
  warn_gpu(gpuHostUnregister(block), "giving pinned memory back");
}

}  // namespace zero
