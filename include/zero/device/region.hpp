#pragma once

#include <string>

namespace zero {

/// True if tools may listen to names of regions. On the host: if a tool for Kokkos is loaded
/// (KOKKOS_TOOLS_LIBS in the environment; Kokkos must run). On a device always, because NVTX does
/// not tell.
bool tool_listens();
/// True if every thread has its own stack of regions, as with NVTX. A tool of Kokkos keeps one
/// stack per process.
bool regions_are_of_threads();

/// A region named `name` for tools: it covers the work that the calling thread queues during the
/// object's life. An empty name costs nothing and opens no region.
class Region {
 public:
  /// Opens the region `name` on the calling thread. Destroy it there too.
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
