#pragma once

#include <algorithm>
#include <chrono>

namespace zero::perf {

/// Seconds of the fastest of `repeats` calls, after one that is not counted.
template <class Work>
double best_seconds(int repeats, const Work& work) {
  using Clock = std::chrono::steady_clock;
  work();
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace zero::perf
