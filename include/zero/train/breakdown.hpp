#pragma once

#include <string>

#include "zero/config/run_config.hpp"
#include "zero/train/engine.hpp"

namespace zero::train {

/// The first tensor, in the order of units, whose gradient on this rank holds an infinity or a NaN:
/// "wte.weight, element 17"; "" if there is none. Of the last attempt.
std::string first_nonfinite_gradient(const StateView& view);

/// Throws Ended, kNumerics, on every rank when fp16 overflowed at the lowest loss scale, or when
/// more than numerics.max_bad_steps attempts in a row were skipped under a constant one; the line
/// names the first broken tensor and its rank. Collective where it throws.
void check_health(Session& session, Engine& engine, const RunConfig& config,
                  const kernels::StepReport& report);

}  // namespace zero::train
