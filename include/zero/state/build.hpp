#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/config/batch.hpp"
#include "zero/config/run_config.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/model/recipe.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {

struct Build;

/// Texts that a run writes between its steps, by a plan of their own.
struct Texts {
  const char* key;        ///< asks for them
  plan::TierBytes bytes;  ///< of a rank, while it writes them
};

/// The ranks that a plan is compiled for; nothing here says which rank asks.
struct World {
  int ranks = 1;
  int threads = 1;    ///< of each rank
  bool gpus = false;  ///< each rank computes on one
  /// Returns the texts that a training of this configuration and build writes; none: it writes
  /// none.
  std::function<std::vector<Texts>(const RunConfig&, const Build&)> texts = {};
  plan::Interrupt interrupt = {};  ///< of each compile
};

Dtype compute_dtype(const RunConfig& config);

/// What the data of a run is opened with.
DataOptions data_options(const RunConfig& config);
/// Opens data of the kind that its model is trained on: see DataKind.
DataSets open_data(const RunConfig& config);
std::vector<std::string> data_files(const RunConfig& config);

/// Samples a rank and evaluation micro-batch; 0 if the run has no validation data.
int64_t evaluation_micro_batch(const RunConfig& config, const BatchSizes& batch);

/// Whether the graphs go through graph::fuse(): a choice of arithmetic that no stage, home or
/// budget has a part in, so that these still change no bit. In reproducible mode, never: which way
/// is faster may be measured otherwise on another rank.
bool fuses_products(const RunConfig& config, bool library_can);

/// What a configuration and a world compile to.
struct Build {
  model::Recipe recipe;
  BatchSizes batch;
  bool trains = true;           ///< else the plan has weights and their evaluation alone
  bool fixed_products = false;  ///< they go by rules alone, and not by what was measured
  int64_t evaluation_micro = 0;
  plan::Plan plan;
  // What checkpoint.async saves from.
  int64_t copy_bytes = 0;                       ///< of a rank's host memory
  std::vector<tiers::DiskExtent> slotted = {};  ///< on a rank's disk, with two slots each
  std::vector<Texts> texts = {};                ///< as World::texts returns them

  /// A rank's, second slots included.
  int64_t disk_bytes() const;
};

/// Whether a run saves its state: synthetic data teach nothing that could be lost, unless saves or
/// checkpoints are asked for.
bool is_saved(const RunConfig& config);

/// Whether the one block of host memory that offloaded states and weights share is to be pinned.
bool pins_host(const RunConfig& config);

/// Writes the model's graph, differentiates it, applies the recompute policy, fuses where the
/// library of products can, and compiles the plan, with so much of the updates on the device and
/// ahead. Throws Error(kUsage) where the numbers cannot work together.
Build build(const RunConfig& config, const World& world, const plan::UpdateShares& shares = {});

/// The same where nothing is trained: of parameters the plan holds the weights alone, without
/// gradients, states or what completes weights to masters. Throws likewise.
Build build_evaluation(const RunConfig& config, const World& world);

/// Adds what micro-batches of shorter samples run to a build of the longest, one form for each pair
/// of lengths that data.length_buckets lists; build() does. Changes no address. Throws as
/// plan::add_forms().
void add_forms(const RunConfig& config, const World& world, Build& build);

/// Pads and orders the samples of all sets by the pairs of data.length_buckets (Dataset::group).
/// Where the key is "auto" the pairs are chosen from the training samples, and from then on it
/// lists them. Nothing where it is "none".
void order_by_length(RunConfig& config, const BatchSizes& batch, DataSets& sets);
/// The same, and what shorter samples run is added to `build`, where it is not there yet.
void group_samples(RunConfig& config, const World& world, Build& build, DataSets& sets);

/// What zero.offload_optimizer.buffer_count = "auto" should be where memory holds it: see
/// plan::staged_units_for().
int64_t buffers_for(const RunConfig& config, const World& world, const plan::Machine& machine);

/// The share of the units, of those whose states rest elsewhere, that the device should update: see
/// plan::device_update_share_for().
double device_update_share_for(const RunConfig& config, const World& world,
                               const plan::Machine& machine);

/// The shares with which units are updated before the norm is known: see
/// plan::speculated_shares_for(). None where the configuration allows none.
plan::UpdateShares speculated_shares_for(const RunConfig& config, const World& world,
                                         const plan::Machine& machine);

/// Says that zero.stage3_param_persistence_threshold keeps no unit gathered, as it is smaller than
/// all of them; "" where it does, or is 0, or where no unit is gathered.
std::string idle_threshold(const RunConfig& config, const plan::Plan& plan);

/// The learning rate of every update of the run; throws Error(kUsage) for more than 100 million.
std::vector<float> learning_rates(const RunConfig& config);

/// Constants of the optimizer. `rates` is viewed and must outlive what uses the rules.
run::Rules rules_of(const RunConfig& config, const std::vector<float>& rates);

}  // namespace zero::state
