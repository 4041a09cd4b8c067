#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zero::report {

/// A lane of the last traced step of rank 0.
struct TracedLane {
  std::string name;
  double busy_ms = 0;
  /// Busy stretches as shares of the step, [begin, end); those closer than a pixel are joined.
  std::vector<std::pair<double, double>> busy = {};
};

/// The last traced step.
struct TracedStep {
  int64_t step = 0;  ///< 0 = none
  double ms = 0;
  std::vector<TracedLane> lanes = {};
};

/// Reads trace.json as a run writes it, an event a line, up to the second rank's.
TracedStep read_trace(const std::string& path);

}  // namespace zero::report
