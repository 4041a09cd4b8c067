#pragma once
/// Twins, device_memory_host.cpp and device_memory_cuda.cpp: tests give kernels their own variables
/// and vectors, which a device must be able to read and write.

namespace zero::testing {

/// Whether there is a device that this build's tests can run on; if not, says so on stderr.
bool has_device();

/// Calls work(argument) where its heap and its stack lie in memory that the device shares, and
/// returns what it returns. On a host build that is everywhere.
int with_shared_memory(int (*work)(void*), void* argument);

}  // namespace zero::testing
