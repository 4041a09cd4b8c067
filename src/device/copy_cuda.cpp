#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/copy.hpp"

namespace zero {

void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  check_cuda(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, native_stream(stream)),
      "starting a copy");
}

}  // namespace zero
