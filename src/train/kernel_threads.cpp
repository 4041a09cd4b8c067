#include "zero/train/kernel_threads.hpp"

#include <Kokkos_Core.hpp>

namespace zero::train {

KernelThreads::KernelThreads(int threads) {
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(threads).set_disable_warnings(true);
  Kokkos::initialize(settings);
}

KernelThreads::~KernelThreads() { Kokkos::finalize(); }

}  // namespace zero::train
