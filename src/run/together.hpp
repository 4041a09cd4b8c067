#pragma once

#include <span>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// Runs a collective for all ranks at once, on their operands' addresses: operands[r] are those of
/// rank r, in the op's order. Sums go along kernels::tree_sum over ranks, so the bits are those of
/// every communicator. Finished on return.
void run_together(const plan::PlanOp& op, std::span<const std::vector<void*>> operands);

}  // namespace zero::run
