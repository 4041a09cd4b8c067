#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero {

/// One device that this process may use.
struct DeviceInfo {
  std::string name;  ///< "NVIDIA H200"
  std::string id;    ///< its own on a node: where it is on the bus, and its serial digits
  int64_t bytes;
  int processors;  ///< multiprocessors
  int major, minor;
};

/// Whether this build drives devices beside the host (ZERO_DEVICE of the build), and its name.
bool drives_devices();
const char* device_kind();

/// The devices that this process may use (CUDA_VISIBLE_DEVICES is heeded); none on a host build,
/// without a driver, or where no device is of an architecture that the build has code for. Needs no
/// Kokkos.
std::vector<DeviceInfo> usable_devices();
/// Why usable_devices() is empty, as far as the driver says: "no CUDA-capable device is detected".
std::string device_trouble();

/// From now on this thread's work and allocations go to that of usable_devices(). Every thread that
/// begins work of its own on a Stream calls adopt_threads(), which does the same.
void use_device(int index);
/// The number by which Kokkos and CUDA know that device; -1 before, and on a host build.
int device_in_use();

/// Of the device in use: "NVIDIA H200, 12.30 GiB used, 127.51 GiB free" over all processes; "" on a
/// host build.
std::string device_text();

/// Bytes of the device in use that are free now, and those that are not, over all processes; -1 on
/// a host build.
int64_t free_device_bytes();
int64_t used_device_bytes();

}  // namespace zero
