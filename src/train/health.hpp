#pragma once

#include <string>

#include "zero/config/run_config.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// The first tensor, in the order of units, whose gradient on this rank holds an infinity or a NaN:
/// "wte.weight, element 17"; "" if there is none. Judged as the optimizer reads it: of the last
/// attempt, after the rounding that the plan asks for.
std::string first_nonfinite_gradient(const state::StateView& view);

/// What was decided about one attempt.
struct Decided {
  kernels::StepReport report;
  int64_t gradients_step;  ///< the attempt whose gradients are in memory by now
};

/// Throws Ended, kNumerics, on every rank when fp16 overflowed at the lowest loss scale, or when
/// more than numerics.max_bad_steps attempts in a row were skipped under a constant one. The line
/// names the first broken tensor and its rank, and the attempt it was seen in where that is a later
/// one. Collective where it throws.
void check_health(launch::Session& session, state::Engine& engine, const RunConfig& config,
                  const Decided& decided);

}  // namespace zero::train
