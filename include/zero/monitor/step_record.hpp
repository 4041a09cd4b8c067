#pragma once

#include <cstdint>

#include "zero/config/objective_keys.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/run/executor.hpp"

namespace zero::monitor {

/// The result and times of one attempt. Evaluations and checkpoints are not counted, nor an update
/// that they, or the end of the run, must apply before the next attempt.
struct StepRecord {
  kernels::StepReport report{};
  int64_t counted = 0;  ///< tokens, or other units of the loss, of all ranks
  double seconds = 0;   ///< wall time until the next attempt begins: loading its batch, the update
                        ///< and log line of the step before, its forward and backward, the ranks'
                        ///< vote
  double exposed_seconds = 0;      ///< seconds that compute waited for other lanes
  run::PhaseSeconds phases{};      ///< seconds of this rank's lanes
  int64_t device_bytes_peak = -1;  ///< most bytes so far in use on this rank's device, by all
                                   ///< users; -1 = the device is the host
  int64_t node_bytes_sent = 0;     ///< bytes that this rank sent to other nodes
  bool rejected = false;           ///< true: skipped because its audit has found a fault
};

/// The phases that are shown, in their order in a step.
inline constexpr run::Phase kShownPhases[] = {run::Phase::forward, run::Phase::backward,
                                              run::Phase::reduce, run::Phase::optimizer,
                                              run::Phase::gather};

/// The values of a step's line that its record lacks.
struct LogContext {
  int64_t steps = 1;                  ///< steps of the whole training
  int64_t last = 1;                   ///< last step of this launch
  int64_t done = 0;                   ///< steps of the launches that this one goes on from
  int64_t samples_done = 0;           ///< samples of those steps
  int64_t batch = 1;                  ///< samples of a step
  const char* counted_by = kByToken;  ///< the unit of StepRecord::counted
  double flops_per_unit = 0;          ///< forward and backward
  double peak_flops = 0;              ///< FLOP/s of all ranks; 0 = not known
  bool shows_scale = false;           ///< shows the loss scale, for fp16
  bool synthetic = false;             ///< true if the data are synthetic
  bool breaks_down = false;           ///< value of wall_clock_breakdown
  bool evaluates = false;             ///< true if there are validation data
  int64_t interval = 1;               ///< steps between two lines on the console

  /// Returns the samples of all steps up to `step`.
  int64_t samples_after(int64_t step) const { return samples_done + (step - done) * batch; }
  /// True if a step is shown: the first and last one of this launch, and each `interval`-th.
  bool shows(int64_t step) const {
    return step % interval == 0 || step == done + 1 || step == last;
  }
};

/// Returns the tokens, or other counted units, of a step a second.
double units_per_second(const StepRecord& record);
/// Returns a step's share of context.peak_flops; 0 if no peak is known.
double share_of_peak(const StepRecord& record, const LogContext& context);

}  // namespace zero::monitor
