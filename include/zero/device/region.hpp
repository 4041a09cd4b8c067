#pragma once

#include <string>

namespace zero {

/// Whether names of regions may be heard: on the host where a tool is loaded that listens to Kokkos
/// (KOKKOS_TOOLS_LIBS in the environment; Kokkos must be running), on a device always, since NVTX
/// does not tell.
bool tool_listens();
/// Whether every thread has regions of its own, as with NVTX. A tool of Kokkos keeps one stack of
/// them a process.
bool regions_are_of_threads();

/// While it lives, what the calling thread queues is in a region that tools know by `name`. With an
/// empty name, which costs nothing, there is no region.
class Region {
 public:
  explicit Region(const std::string& name) : open_(!name.empty()) {
    if (open_) push(name);
  }
  ~Region() {
    if (open_) pop();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  static void push(const std::string& name);
  static void pop();

  bool open_;
};

}  // namespace zero
