#pragma once

#include <span>
#include <string>

#include "zero/run/executor.hpp"

namespace zero::train {

/// What wall_clock_breakdown prints: the time of each region a step, the longest first, on this
/// rank. Lanes run beside each other, so shares of all busy time are given.
std::string region_table(std::span<const run::Executor::Profile> regions, int64_t steps);

}  // namespace zero::train
