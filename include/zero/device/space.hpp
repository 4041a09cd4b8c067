#pragma once
/// What a Stream holds, for kernels and this room only: the Kokkos execution space of its work.

#include <Kokkos_Core.hpp>
#include <string>

#include "zero/device/stream.hpp"

namespace zero {

#ifdef KOKKOS_ENABLE_CUDA
using Space = Kokkos::Cuda;
#else
using Space = Kokkos::OpenMP;
#endif

struct Stream::Handle {
  Space space;
  int threads;
  Place place;
};

/// Whether the device takes a kernel: Kokkos does not ask, and one that is refused does nothing.
/// Only on devices. To be made before the launch: what others have asked of the device in vain, as
/// libraries do that look for an algorithm, is theirs to tell.
struct LaunchCheck {
  LaunchCheck();
  /// Behind the launch. Throws Error(kInternal) with the kernel's name where it was refused.
  void require_taken(const std::string& kernel) const;
};

}  // namespace zero
