#pragma once

#include <array>
#include <cstdint>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// What a training step spends its time on, in the words of DeepSpeed's wall_clock_breakdown.
enum class Phase : uint8_t {
  forward,
  backward,   ///< with the activations that are computed again
  reduce,     ///< gradients on their way to the optimizer: sent and summed
  optimizer,  ///< the norm, the decision and the update
  gather,     ///< weights, on their way to forward and backward
  none,       ///< evaluations
  count_
};
inline constexpr int kPhases = int(Phase::count_);
const char* name_of(Phase phase);

/// Busy seconds of all lanes. Lanes run beside each other, so a step takes less than the sum.
using PhaseSeconds = std::array<double, kPhases>;

/// The phase of an op of that body.
Phase phase_of(const plan::Plan& plan, plan::BodyId body, const plan::PlanOp& op);

}  // namespace zero::run
