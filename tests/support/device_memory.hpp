#pragma once
/// Twins, device_memory_host.cpp and device_memory_cuda.cpp: tests give kernels their own variables
/// and vectors, which a device must be able to read and write.

#include <cstddef>

namespace zero::testing {

/// Whether there is a device that this build's tests can run on; if not, says so on stderr.
bool has_device();

/// Calls work(argument) where its heap and its stack lie in memory that the device shares, and
/// returns what it returns. On a host build that is everywhere.
int with_shared_memory(int (*work)(void*), void* argument);

/// A block of the device's own memory, which the host may not touch, aligned to 256 bytes.
void* take_device_memory(size_t bytes);
void give_device_memory(void* place) noexcept;
/// Between any two places; done on return.
void copy_device_memory(void* to, const void* from, size_t bytes);

}  // namespace zero::testing
