#pragma once

#include <cstdint>

#include "zero/plan/plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::machine {

/// A rank of a training without data, for times alone. Initial weights have seed 1, tokens count
/// up, and no sample is padded.
class MeasuredSteps {
 public:
  /// REQUIRES: `plan` and the objects behind `comms` and `disks` outlive it.
  MeasuredSteps(const plan::Plan& plan, int rank, const run::LaneComms& comms,
                const run::LaneDisks& disks = {});

  /// Runs the update of the last attempt and a new attempt. Returns the seconds. Collective.
  double step();
  /// Runs the update of the last attempt. Returns the seconds. Collective.
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

}  // namespace zero::machine
