#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/advise/placement.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/config/run_config.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {

/// Placeholder in a change for the folder of a local disk, if the input names none.
inline constexpr const char* kFolderToName = "FOLDER";

/// A predicate, true if a build's plan fits. The search calls it for every change that it tries.
using Fits = std::function<bool(const setup::Build&)>;

/// Returns a predicate that compares the memory of a build's plan with `limit`. It makes no
/// forecast.
Fits fits_in(const MemoryLimit& limit);

struct Change {
  std::string text;  ///< arguments after the input file: "zero.stage=2 --ranks 8"
  RunConfig config;  ///< with the change applied
  int ranks = 1;
  bool names_folder = false;  ///< true: kFolderToName is in `text`
};

/// A time limit for a search, which compiles hundreds of plans. A plan of thousands of layers takes
/// many seconds.
struct SearchTime {
  double seconds = 30;     ///< processor time of this thread, after which a compile is interrupted
  bool has_ended = false;  ///< true: the time ran out
};

/// Returns the cheapest change of `config` with which its plan for `world` passes `fits`. The
/// search compiles plans and tries changes in order of rising cost:
/// - a smaller micro-batch with more micro-batches per step, so train_batch_size stays
/// - more recompute
/// - a higher stage; at stage 3 no units kept, no prefetch
/// - other homes: from host memory back to the device; from disk to host memory; otherwise
///   optimizer states, then also parameters, to host memory; last to disk, in a folder that the
///   input names
/// - other homes for the inputs of recomputation
/// - more ranks, doubled up to `most_ranks`
/// Each of these is also tried with fewer buffers and with checkpoint.async = false. The change
/// keeps all numerical results. It has no needless setting, and no fewer buffers and no larger
/// share on the device than needed. `time` limits the search; null: no limit. If time runs out, the
/// change may hold more than is needed. Returns nothing if no change fits or time ran out before.
std::optional<Change> cheapest_change(const RunConfig& config, const setup::World& world,
                                      const Fits& fits, int most_ranks = comm::kMostRanks,
                                      SearchTime* time = nullptr);

/// Returns the micro-batches that a configuration leaves open, ascending: 1 to 65536 or, with
/// train_batch_size set, those that divide a rank's share.
std::vector<int64_t> micro_candidates(const RunConfig& config, const setup::World& world);

/// Refuses train_batch_size with gradient_accumulation_steps, which leave no micro-batch open.
/// Throws SettingsError.
void require_open_batch(const RunConfig& config);

/// Returns the largest train_micro_batch_size_per_gpu up to 65536, with which the plan of `config`
/// for `world` passes `fits`; 0 if none does. With train_batch_size set, it considers only sizes
/// that divide it.
int64_t largest_micro_batch(const RunConfig& config, const setup::World& world, const Fits& fits);

/// Returns the part of `limit` in which the largest micro-batch is searched. It is the whole limit
/// if memory.device_limit or memory.host_limit of `config` sets it. Otherwise it is 15/16, because
/// a machine also holds libraries, data and messages.
MemoryLimit limit_of_largest(const RunConfig& config, MemoryLimit limit);

/// Replaces train_micro_batch_size_per_gpu = "max" in `config` by the largest size whose plan for
/// `world` fits within `limit`, reduced by limit_of_largest(). Sets 1 if none fits, because the
/// plan's refusal then names a remedy. Throws Error(kUsage) if train_batch_size and
/// gradient_accumulation_steps leave no choice.
void resolve_largest(RunConfig& config, const setup::World& world, const MemoryLimit& limit);

/// The options of a user to change a refused plan.
struct ChangeOptions {
  int most_ranks;  ///< maximum of all ranks; the current number if --ranks cannot be typed
  /// Returns the ranks per node for a change with more ranks if --ranks-per-node must be typed,
  /// otherwise 0.
  std::function<int64_t(const Change&)> node_ranks = {};
  /// Settings of the command line. A change names those that it replaces, because keys are unique.
  std::span<const std::string> typed = {};
  SearchTime time = {};  ///< limit of the search for a change
};

/// Throws Error(kDoesNotFit), with the cheapest change of `config` for `world`, if the reported
/// plan does not fit its limit.
void refuse_unless_fits(const PlanReport& report, const RunConfig& config,
                        const setup::World& world, const ChangeOptions& options);

}  // namespace zero::advise
