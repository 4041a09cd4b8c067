#pragma once

namespace zero::train {

/// The threads that kernels run on (Kokkos), for as long as it lives. One at a time in a process.
class KernelThreads {
 public:
  explicit KernelThreads(int threads);
  ~KernelThreads();
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
};

}  // namespace zero::train
