#pragma once

#include <string>

namespace zero {

/// Whether a tool is loaded that listens to Kokkos (KOKKOS_TOOLS_LIBS in the environment). Kokkos
/// must be running.
bool tool_listens();

/// While it lives, the calling thread's kernels are in a region that such a tool knows by `name`.
/// With an empty name, which costs nothing, there is no region.
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
