#pragma once

#include <algorithm>
#include <vector>

namespace zero::launch {

/// The cores that this process may use.
struct Cores {
  std::vector<int> numbers = {};  ///< the kernel's numbers, ascending; empty: unknown
  int count() const { return std::max(1, int(numbers.size())); }
};
Cores allowed_cores();

}  // namespace zero::launch
