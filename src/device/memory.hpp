#pragma once
/// Device memory for Arena. Twins: host/device.cpp and gpu/device.cpp.

#include <cstddef>
#include <cstdint>
#include <string>

namespace zero {

/// True if the device has memory that is not the host's. If not, nobody calls the functions below.
bool has_device_memory();

/// Takes a block of device memory, filled with zeros. Throws Error(kDoesNotFit) with the bytes
/// asked for and the bytes free.
std::byte* take_device_memory(int64_t bytes);
void give_device_memory(std::byte* block) noexcept;

/// Pins host memory, so the device addresses it and copies need no detour. Throws
/// Error(kDoesNotFit) if the system refuses to pin more.
void pin_memory(std::byte* block, int64_t bytes);
void unpin_memory(std::byte* block) noexcept;

}  // namespace zero
