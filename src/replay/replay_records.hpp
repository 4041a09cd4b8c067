#pragma once
/// The files that say what a run computed, read without any rank.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zero::replay {

/// A line of metrics.jsonl.
struct RecordedStep {
  uint64_t loss_bits = 0;                ///< of the double
  std::optional<double> grad_norm = {};  ///< none if it was not finite
  bool skipped = false;
  bool rejected = false;  ///< true: skipped because its audit found a fault
};

/// A digest in digests.jsonl.
struct RecordedDigest {
  std::string unit, state;
  uint64_t digest = 0;

  bool operator==(const RecordedDigest&) const = default;
};

/// The steps (begin, end] of a run, with those that have digests.
struct Recorded {
  std::map<int64_t, RecordedStep> steps = {};
  std::map<int64_t, std::vector<RecordedDigest>> digests = {};
};

/// Reads what a run's folder says of steps (begin, end]. A last line that a kill has cut counts as
/// absent. Throws Error(kInput) with file and line for any other line that no run writes, and for
/// digests of another form.
Recorded read_recorded(const std::string& folder, int64_t begin, int64_t end);

/// Returns the last step in metrics.jsonl; 0 without one. Throws as read_recorded().
int64_t last_recorded(const std::string& folder);

/// The launch that took a step.
struct RecordedLaunch {
  int64_t ranks = 0;
  bool is_last = true;  ///< effective.toml has its settings
  int64_t begin = 0;    ///< step before its first one
  /// Last step that no later launch took again. The greatest number for the last launch.
  int64_t end = std::numeric_limits<int64_t>::max();
};
/// Returns the launch in launches.jsonl that took `step`: the last one that began before it. Throws
/// as read_recorded(), also if there is none.
RecordedLaunch launch_of(const std::string& folder, int64_t step);

/// Returns the distance of two numbers in units of the last place: 0 for equal bits, 1 for
/// neighbours. The greatest number if either is NaN.
uint64_t ulps_between(double a, double b);
uint64_t ulps_between(float a, float b);

}  // namespace zero::replay
