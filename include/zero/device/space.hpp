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
  Priority priority = Priority::normal;
};

/// Tells whether the device takes a kernel, which Kokkos does not ask: one that is refused does
/// nothing. Made before the launch and asked behind it, so that what libraries have asked of the
/// device in vain, as they do where they look for an algorithm, counts for nothing. Exists on
/// devices alone.
class LaunchCheck {
 public:
  LaunchCheck();
  /// Throws Error with the kernel's name where it was refused, or where work before it has failed.
  void require_taken(const std::string& kernel) const;

 private:
  const int earlier_;  ///< the device's own status before the launch; an error that lasts stays
};

}  // namespace zero
