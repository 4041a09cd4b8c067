#pragma once

#include "zero/commands/command_line.hpp"
#include "zero/train/plan_report.hpp"

namespace zero::commands {

/// Compiles the input for the ranks and the machine that are asked for and prints what it takes:
/// bytes, elements sent, time, and whether it fits. Needs no peers, data or device. Throws
/// Error(kDoesNotFit), naming the cheapest change under which it would fit, if it does not.
int plan(const CommandLine& line);

/// Throws the Error(kDoesNotFit) of a refused plan, with that change; returns if it fits. Ranks are
/// added on further nodes of `node_ranks` where the limit is a node's share (0: it is a device's).
void refuse_unless_fits(const train::PlanReport& report, const RunConfig& config,
                        const train::Team& team, int64_t node_ranks);

}  // namespace zero::commands
