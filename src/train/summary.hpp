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

/// Returns the table of wall_clock_breakdown: the time of each region a step on this rank, longest
/// first. Shares are of all busy time, because lanes run side by side.
std::string region_table(std::span<const run::Executor::Profile> regions, int64_t steps);

/// The bytes that all ranks have moved to and from their disks.
struct DiskReport {
  state::DiskBytes planned;  ///< forecast for the bodies that ran
  state::DiskBytes steps;    ///< counted in these bodies
  state::DiskBytes all;      ///< with the start, checkpoints and other host transfers
  state::DiskBytes kernel;   ///< all transfers of the processes, as the kernel counts
};

/// Returns the bytes that the ranks moved; zeros if the plan keeps nothing on disk. Collective.
DiskReport disk_report(const launch::Peers& peers, const state::Engine& engine,
                       const plan::Forecast& forecast);

/// Returns a line for people on the disk traffic of steps that took `seconds`, or "" without any.
std::string disk_text(const DiskReport& report, double seconds);

/// Returns this process's proportional set size in bytes, from /proc/self/smaps_rollup, or 0.
int64_t proportional_set_bytes();

struct SummaryParts {
  launch::Session& session;
  state::Engine& engine;
  const advise::PlanReport& plan;
  const Outcome& outcome;
  std::string version;
  int64_t peak_pss_bytes = 0;  ///< peak PSS of this rank
  double start_seconds = 0;    ///< from program start to the first step
  double train_seconds = 0;    ///< steps of this launch
  double earlier_seconds = 0;  ///< steps of the launches that it goes on from
  double evaluation_seconds = 0;
  int64_t done = 0;           ///< step after which this launch began
  double peak_flops = 0;      ///< FLOP/s of all ranks; 0 = not known
  double flops_per_unit = 0;  ///< FLOPs of a token, or of another unit of the loss
  bool hashes_state = true;   ///< false: the hashes are null
};

/// Returns the text of summary.json on rank 0, "" elsewhere. It holds planned and allocated bytes,
/// device bytes used before them, peak PSS, and traffic to peers and disks beside its forecast. It
/// also holds lane times and bytes, region times, state_sha256 and state_xxh3. After a signal
/// state_sha256 is null, and state_sha256_left_out says why. steps, updates and
/// train_seconds cover all launches together, the rest covers this one. Collective.
std::string summary_json(const SummaryParts& parts);

}  // namespace zero::train
