#include "src/device/chosen_device.hpp"
#include "src/device/cuda_status.hpp"
#include "src/device/native_stream.hpp"
#include "zero/device/copy.hpp"

namespace zero {

/// Any thread may come here; one that has not adopted its stream would drive the first device too.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  use_chosen_device();
  check_cuda(
      cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDefault, native_stream(stream)),
      "starting a copy");
}

}  // namespace zero
