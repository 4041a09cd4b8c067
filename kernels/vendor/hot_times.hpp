#pragma once
/// Times of ways to do one thing on a device whose clock falls under load. What is fastest in a
/// burst at a high clock need not be so in a step, which keeps the device at its power limit.
/// Nothing here knows the device.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace zero::kernels::vendor {

/// Microseconds, but for counts.
struct HotRules {
  double load = 100e3;  ///< of work before anything is timed
  double turn = 30e3;   ///< of a finalist's runs back to back
  int turns = 3;
  size_t finalists = 4;
  double within = 1.15;  ///< of the least cool time, beyond which nothing is a finalist
};

/// A burst is no longer than so many runs, which a stream's queue takes.
inline constexpr int kHotRunsMost = 1000;

/// Runs a contender `count` times back to back. Returns the microseconds of all runs, infinity
/// where it cannot run.
using RunBurst = std::function<float(size_t contender, int count)>;

/// Returns the time of a run of each contender under load: the median over turns that finalists
/// take, forth and back. Infinity for what is no finalist.
///   cool  the time of one run of each at rest, in microseconds, infinity where it cannot run
std::vector<float> hot_times(std::span<const float> cool, const RunBurst& run,
                             const HotRules& rules = {});

}  // namespace zero::kernels::vendor
