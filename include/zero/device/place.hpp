#pragma once

#include <cstdint>

namespace zero {

/// Where a block of memory lies, or a stream's kernels run. On a host build all are the host.
enum class Place : uint8_t {
  host,
  pinned,  ///< host memory that the device reaches and copies to and from without a detour
  device,  ///< not to be touched by the host, see zero/device/copy.hpp
};

}  // namespace zero
