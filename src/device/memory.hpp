#pragma once
/// What an Arena asks of the device: twins, host/device.cpp and gpu/device.cpp.

#include <cstddef>
#include <cstdint>
#include <string>

namespace zero {

/// Whether a device has memory that is not the host's. Where it has none, the functions below are
/// never called.
bool has_device_memory();

/// A block of device memory, filled with zeros. Throws Error(kDoesNotFit) with the bytes asked for
/// and the bytes free.
std::byte* take_device_memory(int64_t bytes);
void give_device_memory(std::byte* block) noexcept;

/// Fixes host memory to its place, so that the device reaches it and copies need no detour. Throws
/// Error(kDoesNotFit) where the system gives no more of it.
void pin_memory(std::byte* block, int64_t bytes);
void unpin_memory(std::byte* block) noexcept;

}  // namespace zero
