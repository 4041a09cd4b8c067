#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

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

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The median of value(round) over all rounds.
template <class Rounds, class Value>
double median_of(const Rounds& rounds, const Value& value) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(value(round));
  return median(std::move(values));
}

}  // namespace zero::perf
