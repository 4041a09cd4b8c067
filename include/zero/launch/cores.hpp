#pragma once

#include <algorithm>
#include <vector>

namespace zero::launch {

/// The cores that this process may use.
struct Cores {
  std::vector<int> numbers = {};  ///< the kernel's numbers, ascending; empty: unknown
  /// Returns the number of cores, 1 if unknown.
  int count() const { return std::max(1, int(numbers.size())); }
};
/// Returns the cores that the system allows this process.
Cores allowed_cores();

}  // namespace zero::launch
