#pragma once

namespace zero::launch {

/// The threads, or the device, on which kernels run (Kokkos). At most one exists in a process.
/// Takes the first device if use_device() has chosen none. Throws Error(kUsage or kDevice) without
/// a device, and Error(kUsage) for environment variables that would make Kokkos end the program.
class KernelThreads {
 public:
  /// Starts Kokkos with `threads` threads for kernels of the host.
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
};

}  // namespace zero::launch
