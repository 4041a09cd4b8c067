#pragma once

#include <cstdint>
#include <string>

#include "zero/advise/plan_report.hpp"

namespace zero::advise {

/// The size of a Slurm job.
struct SlurmJob {
  int64_t nodes = 1;
  int64_t node_ranks = 1;  ///< ranks of each node, a GPU each if they have GPUs
  int64_t threads = 1;     ///< of each rank
  bool has_gpus = false;
};

/// Returns the seconds before a job's end at which a run of the reported plan on `nodes` nodes must
/// hear of it. They cover two steps and two saves by the forecast's rates, and the minute by which
/// Slurm may be late.
int64_t warning_seconds(const PlanReport& report, int64_t nodes);

/// Returns the #SBATCH lines for the reported plan in a job of this size, with a comment on the
/// memory and the signal.
std::string slurm_lines(const PlanReport& report, const SlurmJob& job);

}  // namespace zero::advise
