#pragma once

#include <ctime>

namespace zero::testing_support {

/// Seconds of the processor that `work` takes, however busy the machine is.
template <class Work>
double processor_seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace zero::testing_support
