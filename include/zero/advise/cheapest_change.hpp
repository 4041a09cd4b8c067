#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/config/run_config.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// Stands in a change for the folder of a local disk, where the input names none: the user does.
inline constexpr const char* kFolderToName = "FOLDER";

/// Whether what was compiled fits. Called for each change that is tried.
using Fits = std::function<bool(const state::Build&)>;

/// Judges by what the plan takes of each memory, so that nothing has to be forecast.
Fits fits_in(const MemoryLimit& limit);

struct Change {
  std::string text;  ///< as it is typed after the input file: "zero.stage=2 --ranks 8"
  RunConfig config;  ///< with the change
  int ranks = 1;
  bool names_folder = false;  ///< whether kFolderToName is in it
};

/// Bounds a search: a plan of thousands of layers takes many seconds, and the search hundreds of
/// them.
struct SearchTime {
  double seconds = 30;     ///< of this thread on a core, after which a compile is interrupted
  bool has_ended = false;  ///< it did so
};

/// The cheapest change of settings under which a refused plan fits, found by compiling. In order of
/// rising cost it tries a smaller micro-batch with as many more micro-batches a step, so that
/// train_batch_size stays; more recompute; a higher stage; at stage 3 no units kept, no prefetch.
/// Then it tries other homes: back on the device what host memory does not hold; what rests on
/// disk, or else optimizer states, then also parameters, in host memory; on disk, in a folder that
/// the input names anywhere. It does so for what recomputation begins with, too. At last it tries
/// more ranks, doubled up to `most_ranks`. On each of these ways fewer buffers and checkpoint.async
/// = false come last. Nothing that changes the numbers is offered, no setting that could be left
/// out, no fewer buffers and no larger share on the device than needed. Returns none if nothing
/// fits or the search ran out of time. A change that is found as time runs out may hold more than
/// is needed.
std::optional<Change> cheapest_change(const RunConfig& config, const state::World& world,
                                      const Fits& fits, int most_ranks = comm::kMostRanks,
                                      SearchTime* time = nullptr);

/// The largest train_micro_batch_size_per_gpu that fits on these ranks, up to 65536: of those that
/// divide train_batch_size where that is given, else of all. 0 if none does.
int64_t largest_micro_batch(const RunConfig& config, const state::World& world, const Fits& fits);

/// Where the largest is looked for: in all of the limit if memory.device_limit or memory.host_limit
/// says it, else in 15/16 of it, since a machine also holds libraries, data and messages.
MemoryLimit limit_of_largest(const RunConfig& config, MemoryLimit limit);

/// Replaces train_micro_batch_size_per_gpu = "max" by the largest that fits; by 1 where none does,
/// so that refusing the plan names what would help. Throws Error(kUsage) where train_batch_size and
/// gradient_accumulation_steps leave no choice.
void resolve_largest(RunConfig& config, const state::World& world, const MemoryLimit& limit);

/// Puts what has become of train_micro_batch_size_per_gpu = "max" ahead of the choices of a
/// placement within `limit`; nothing where it was not asked for.
void add_largest_choice(const RunConfig& asked, const MemoryLimit& limit, Placement& placement);

/// How the user of a refused plan may change it.
struct ChangeOptions {
  int most_ranks;  ///< those it has where --ranks cannot be typed
  /// The ranks of each node of a change that has more ranks, where --ranks-per-node must be typed
  /// with it; else 0.
  std::function<int64_t(const Change&)> node_ranks = {};
  /// The settings of the command line. A key stands there once, so a change says what it replaces.
  std::span<const std::string> typed = {};
  SearchTime time = {};  ///< that looking for a change may take
};

/// Throws the Error(kDoesNotFit) of a refused plan, with that change; returns if it fits.
void refuse_unless_fits(const PlanReport& report, const RunConfig& config,
                        const state::World& world, const ChangeOptions& options);

}  // namespace zero::advise
