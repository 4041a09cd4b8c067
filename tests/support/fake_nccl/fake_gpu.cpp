// The host as the device of src/comm/gpu: what its files ask of CUDA's runtime and of src/device.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_nccl/fake_nccl.hpp"
#include "zero/base/error.hpp"
#include "zero/device/gpu_runtime.hpp"

/// NCCL has cleared what it met.
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const bool one = zero::fake_nccl::faults().one_device != 0;
  *properties = {};
  std::snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "%d",
                one || !rank ? 0 : std::atoi(rank));
  return cudaSuccess;
}

namespace zero {

void use_chosen_device() { fake_nccl::choose_device(); }
void prefer_chosen_device() noexcept { fake_nccl::choose_device(); }

gpuStream_t native_stream(const Stream& stream) {
  return reinterpret_cast<gpuStream_t>(const_cast<Stream*>(&stream));
}

void refuse_device_memory(int64_t bytes, const std::string& more) {
  refuse(Exit::kDoesNotFit, "an arena of ", bytes, " bytes does not fit", more);
}

void clear_device_memory(std::byte* block, int64_t bytes) { std::memset(block, 0, size_t(bytes)); }

}  // namespace zero
