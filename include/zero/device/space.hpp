#pragma once
/// What a Stream holds, for kernels and this room only: the Kokkos execution space of its work.

#include <Kokkos_Core.hpp>

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

}  // namespace zero
