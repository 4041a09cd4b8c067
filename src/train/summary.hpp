#pragma once

#include <span>
#include <string>

#include "src/train/trainer.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/launch/peers.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/run/executor.hpp"
#include "zero/state/engine.hpp"

namespace zero::train {

/// What wall_clock_breakdown prints: the time of each region a step, the longest first, on this
/// rank. Lanes run beside each other, so shares of all busy time are given.
std::string region_table(std::span<const run::Executor::Profile> regions, int64_t steps);

/// What all ranks have moved to and from their disks.
struct DiskReport {
  state::DiskBytes planned;  ///< by the bodies that ran
  state::DiskBytes steps;    ///< the same, counted
  state::DiskBytes all;      ///< with the start, checkpoints and what else the host reads
  state::DiskBytes kernel;   ///< by the processes, of whatever they do, as the kernel counts
};

/// What the ranks together have moved. Zeros where the plan keeps nothing on disk. Collective.
DiskReport disk_report(const launch::Peers& peers, const state::Engine& engine,
                       const plan::Forecast& forecast);

/// One line about the steps for people; "" where nothing is kept on disk.
std::string disk_text(const DiskReport& report, double seconds);

/// Bytes of this process as the kernel shares them out, from /proc/self/smaps_rollup; 0 without it.
int64_t proportional_set_bytes();

struct SummaryParts {
  launch::Session& session;
  state::Engine& engine;
  const advise::PlanReport& plan;
  const Outcome& outcome;
  std::string version;
  int64_t peak_pss_bytes = 0;  ///< of this rank
  double start_seconds = 0;    ///< from the start of the program to the first step
  double train_seconds = 0;    ///< of this launch's steps
  double earlier_seconds = 0;  ///< of the steps of the launches that it goes on from
  double evaluation_seconds = 0;
  int64_t done = 0;          ///< the step after which this launch began
  bool hashes_state = true;  ///< else the hashes are null
};

/// summary.json: planned and allocated bytes, what was in use of a device before them, peak PSS,
/// traffic to peers and disks beside its forecast, times and bytes of each lane and times of each
/// region over ranks, state_sha256 and state_xxh3. steps, updates and train_seconds are of all
/// launches together, the rest is of this one. Collective; the text is on rank 0, "" elsewhere.
std::string summary_json(const SummaryParts& parts);

}  // namespace zero::train
