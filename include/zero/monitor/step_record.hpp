#pragma once

#include <cstdint>

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
};

}  // namespace zero::monitor
