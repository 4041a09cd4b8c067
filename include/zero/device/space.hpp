#pragma once
/// The Kokkos execution space that a Stream holds, for kernels and this room only.

#include <Kokkos_Core.hpp>
#include <string>

#include "zero/base/error.hpp"
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

/// Throws Error(kInternal) unless a Stream of `threads` threads on `place` can be made, as its
/// constructor requires.
inline void require_stream(int threads, Place place) {
  ZERO_REQUIRE(threads >= 1, "stream of ", threads, " threads: at least 1");
  ZERO_REQUIRE(place != Place::pinned, "a stream runs on the device or on the host");
  ZERO_REQUIRE(Kokkos::is_initialized(), "stream before Kokkos runs: initialise Kokkos first");
}

/// A check that the device accepted a kernel. Kokkos does not check this, and a refused kernel does
/// nothing. Construct it before the launch and ask it after, so earlier errors of libraries, which
/// may try algorithms in vain, do not count. Exists only on devices.
class LaunchCheck {
 public:
  LaunchCheck();
  /// Throws Error if the kernel, named `kernel` in the text, was refused, or if work before it has
  /// failed.
  void require_taken(const std::string& kernel) const;

 private:
  const int earlier_;  ///< device's status before the launch; a lasting error stays
};

}  // namespace zero
