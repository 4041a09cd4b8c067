#pragma once
/// Spikes are finite steps whose loss or gradient norm is far above those of the steps before.

#include <cstdint>
#include <vector>

#include "zero/kernels/step_state.hpp"

namespace zero::state {

/// The rule by which steps are skipped as spikes.
struct SpikeRule {
  double factor = 0;        ///< standard deviations above the mean; 0 = no step is a spike
  int64_t most_in_row = 0;  ///< skipped attempts in a row, for any reason, that spikes may make
};

/// The losses and gradient norms of the last applied steps, with the limits that follow from them.
/// It hears the exact sums that decide() made, in the order of steps, so all ranks have the same
/// limits, and so has a run that goes on with the content of another.
class SpikeWindow {
 public:
  static constexpr int64_t kSteps = 200;

  struct Step {
    double loss, grad_norm;
  };
  /// The part of a window that checkpoints keep.
  struct Content {
    std::vector<Step> steps = {};  ///< at most kSteps, oldest first
    int64_t skipped_in_row = 0;    ///< attempts skipped since the last applied one
    int64_t spikes = 0;            ///< attempts of the training skipped as spikes
  };

  /// Makes an empty window for a rule. Takes the memory of all steps, so hear() allocates nothing.
  explicit SpikeWindow(const SpikeRule& rule);

  bool is_on() const { return rule_.factor > 0; }
  /// Adds the report of the next attempt. Skipped ones change no limit. Does nothing unless
  /// is_on().
  void hear(const kernels::StepReport& report);
  /// Returns the limits of the next attempt: mean + factor x standard deviation, both over the
  /// window (Welford 1962). Infinite until the window is full, and after most_in_row skipped
  /// attempts, so a training whose losses stay higher goes on.
  kernels::SpikeLimits limits() const;

  const Content& content() const { return content_; }
  /// REQUIRES: `content` has at most kSteps steps.
  void set_content(const Content& content);

 private:
  SpikeRule rule_;
  Content content_;
};

}  // namespace zero::state
