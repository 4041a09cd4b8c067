#pragma once
/// Times of ways to do one thing on a device whose clock falls under load. The fastest in a burst
/// at a high clock may not be so in a step, which keeps the device at its power limit. Nothing here
/// knows the device.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace zero::kernels::vendor {

/// The rules of a measurement. Times are in microseconds.
struct HotRules {
  double load = 100e3;  ///< work before anything is timed
  double turn = 30e3;   ///< runs of a finalist back to back
  int turns = 3;
  size_t finalists = 4;
  double within = 1.15;  ///< largest cool time of a finalist, in units of the least one
};

/// The most runs of a burst, which a stream's queue takes.
inline constexpr int kHotRunsMost = 1000;

/// A function that runs a contender `count` times back to back. Returns the microseconds of all
/// runs, infinity if it cannot run.
using RunBurst = std::function<float(size_t contender, int count)>;

/// Returns the time of a run of each contender under load: the median over turns that finalists
/// take, forth and back. Infinity for contenders that are no finalists.
///   cool  time of one run of each at rest, in microseconds, infinity if it cannot run
std::vector<float> hot_times(std::span<const float> cool, const RunBurst& run,
                             const HotRules& rules = {});

}  // namespace zero::kernels::vendor
