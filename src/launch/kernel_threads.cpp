#include "zero/launch/kernel_threads.hpp"

#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdlib>

#include "zero/device/device.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::launch {
namespace {

/// Chooses the first device, for a process that is no rank.
void take_any_device() {
  NodeDevices here{.host = "this host",
                   .of_rank = {{}},
                   .trouble = device_trouble(),
                   .exit = exit_of_device_trouble()};
  for (const DeviceInfo& device : usable_devices()) here.of_rank[0].push_back(device.id);
  use_device(choose_device(here, 0));
}

}  // namespace

KernelThreads::KernelThreads(int threads) {
  require_kokkos_variables(std::getenv, threads);
  Kokkos::InitializationSettings settings;
  if (drives_devices()) {
    if (device_in_use() < 0) take_any_device();
    settings.set_device_id(device_in_use());
  }
  settings.set_num_threads(threads).set_disable_warnings(true);
  // Kokkos starts OpenMP to count its threads, which OMP_NUM_THREADS or a large machine may make
  // far more than `threads`.
  omp_set_num_threads(threads);
  Kokkos::initialize(settings);
}

KernelThreads::~KernelThreads() { Kokkos::finalize(); }

}  // namespace zero::launch
