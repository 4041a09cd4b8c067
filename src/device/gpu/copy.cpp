#include "zero/device/copy.hpp"

#include "src/device/chosen_device.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero {

/// Any thread may come here; one that has not adopted its stream would drive the first device too.
void copy_bytes(Stream& stream, std::span<const std::byte> from, std::byte* to) {
  if (from.empty()) return;
  use_chosen_device();
  check_gpu(gpuMemcpyAsync(to, from.data(), from.size(), gpuMemcpyDefault, native_stream(stream)),
            "starting a copy");
}

}  // namespace zero
