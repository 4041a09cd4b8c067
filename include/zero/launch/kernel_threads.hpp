#pragma once

namespace zero::launch {

/// The threads, or the device, that kernels run on (Kokkos), for as long as it lives. One at a time
/// in a process. A device that nobody has named is the first; throws Error(kUsage) without any, and
/// for variables of the environment that Kokkos would end the program for.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
};

}  // namespace zero::launch
