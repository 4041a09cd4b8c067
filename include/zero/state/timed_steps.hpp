#pragma once

#include <cstdint>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {

/// One rank of a training without data, of which only the time counts: initial weights of seed 1,
/// every token is the next one's id, and no sample is padded.
class TimedSteps {
 public:
  /// `plan`, and what lanes use, outlive it.
  TimedSteps(const plan::Plan& plan, int rank, const run::LaneComms& comms,
             const run::LaneDisks& disks = {});

  /// The update of the last attempt and one more; returns the seconds. Collective.
  double step();
  /// The update of the last attempt. Collective.
  double finish();

  run::Executor& executor() { return executor_; }

 private:
  double run(plan::BodyId body);

  const plan::Plan& plan_;
  const float rate_ = 1e-4f;
  const run::Rules rules_;
  run::Executor executor_;
  int64_t step_ = 0;
};

}  // namespace zero::state
