#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/commands/command_line.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/config/read_config.hpp"

namespace zero::commands {

/// Compiles the input for the ranks and the machine that are asked for and prints what it takes:
/// bytes, elements sent, time, and whether it fits. Needs no peers, data or device. Throws
/// Error(kDoesNotFit), naming the cheapest change under which it would fit, if it does not.
int plan(const CommandLine& line);

/// What became of train_micro_batch_size_per_gpu = "max", for people; "" where it was not asked
/// for.
std::string largest_text(const RunConfig& asked, int64_t micro, const advise::MemoryLimit& limit);

/// What a plan shows of settings that the user wrote and that it has no use for, each with its
/// place.
std::vector<std::string> plan_warnings(const ConfigInput& input, const plan::Plan& plan);

/// How a refused plan may be given more ranks.
struct MoreRanks {
  int most;  ///< in all; those it has where --ranks cannot be typed
  /// Of each node of a change that has more ranks, where --ranks-per-node must be typed with it;
  /// else 0.
  std::function<int64_t(const advise::Change&)> node_ranks = {};
};

/// Throws the Error(kDoesNotFit) of a refused plan, with that change; returns if it fits.
void refuse_unless_fits(const advise::PlanReport& report, const RunConfig& config,
                        const state::Team& team, const MoreRanks& more);

}  // namespace zero::commands
