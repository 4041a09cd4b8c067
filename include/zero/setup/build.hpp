#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/config/batch_keys.hpp"
#include "zero/config/run_config.hpp"
#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/scored_texts.hpp"
#include "zero/io/tiers/disk_tier.hpp"
#include "zero/model/recipe.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/run/executor.hpp"

namespace zero::setup {

struct Build;

/// The texts that a run writes between its steps, by a plan of their own.
struct Texts {
  const char* key;        ///< the key that asks for them
  plan::TierBytes bytes;  ///< memory of a rank while it writes them
};

/// The ranks that a plan is compiled for. Independent of the rank that asks.
struct World {
  int ranks = 1;
  int threads = 1;    ///< threads of each rank
  bool gpus = false;  ///< each rank computes on a GPU
  /// Ranks of every node, which are neighbours; 0: all share one; -1: nodes are unlike.
  int node_ranks = 0;
  /// Returns the texts that a training of this configuration and build writes. Empty: it writes
  /// none.
  std::function<std::vector<Texts>(const RunConfig&, const Build&)> texts = {};
  plan::Interrupt interrupt = {};  ///< called in each compile
};

/// Returns the dtype in which a run of `config` computes.
Dtype compute_dtype(const RunConfig& config);

/// Returns the options by which a run of `config` opens its data.
DataOptions data_options(const RunConfig& config);
/// Opens a run's data, of the kind that its model is trained on: see DataKind.
DataSets open_data(const RunConfig& config);

/// Returns the samples of a rank in an evaluation micro-batch: batch.micro, unless `config` sets
/// another number. Returns 0 without data to evaluate on.
int64_t evaluation_micro_batch(const RunConfig& config, const BatchSizes& batch);

/// True if the graphs of a run go through graph::fuse(), which changes arithmetic. `library_can` is
/// true if the library of products has fused ones. No stage, home or budget has a part in this
/// choice, so these change no bit. False in reproducible mode, because measurements on another rank
/// may prefer another way.
bool fuses_products(const RunConfig& config, bool library_can);

/// A configuration, compiled for a world.
struct Build {
  model::Recipe recipe;
  BatchSizes batch;
  bool trains = true;           ///< false: the plan only has weights and their evaluation
  bool fixed_products = false;  ///< products go by rules alone, not by measurements
  int64_t evaluation_micro = 0;
  plan::Plan plan;
  // The copies from which checkpoint.async saves.
  int64_t copy_bytes = 0;                       ///< bytes of a rank's host memory
  std::vector<tiers::DiskExtent> slotted = {};  ///< extents on a rank's disk that have two slots
  std::vector<Texts> texts = {};                ///< as World::texts returns them

  /// Returns the bytes of a rank's disk, including second slots.
  int64_t disk_bytes() const;
};

/// True if a run saves its state. Synthetic data teach nothing that could be lost, so their runs
/// save only if saves or checkpoints are asked for.
bool is_saved(const RunConfig& config);

/// True if the host memory of a run's offloaded states and weights, which is one block, is pinned.
bool pins_host(const RunConfig& config);

/// Compiles `config` for `world`. Makes the model's graph, differentiates it, applies the recompute
/// policy, fuses where the library of products can, and compiles the plan. `shares` are the updates
/// on the device and ahead. Throws Error(kUsage) if the numbers cannot work together.
Build build(const RunConfig& config, const World& world, const plan::UpdateShares& shares = {});

/// Builds a plan of `config` for `world` that evaluates and does not train. Its parameters have
/// weights alone, without gradients, states or low parts. Throws as build().
Build build_evaluation(const RunConfig& config, const World& world);

/// Adds forms for shorter samples to a build of the longest, one for each that config's
/// data.length_buckets lists. `world` is that of the build. build() calls it. Changes no address.
/// Throws as plan::add_forms().
void add_forms(const RunConfig& config, const World& world, Build& build);

/// Pads and orders the samples of all sets by the forms of data.length_buckets, for micro-batches
/// of `batch` (Dataset::group). Replaces "auto" in `config` by lengths chosen from the training
/// samples. Does nothing for "none".
void order_by_length(RunConfig& config, const BatchSizes& batch, DataSets& sets);
/// Orders the samples of all sets as order_by_length(), and adds their forms to `build` if it lacks
/// them. `config` and `world` are those of the build.
void group_samples(RunConfig& config, const World& world, Build& build, DataSets& sets);

/// Opens the texts that evaluations under `config` score: see open_scored_sets().
std::vector<ScoredSet> open_scored_sets(const RunConfig& config);
/// Pads and orders the samples of scored sets by a few lengths, chosen from the first set. Adds to
/// `build`, of `config` and `world`, a form of the evaluation for each. Leaves all at the longest
/// if activations leave the device. REQUIRES: data.length_buckets = "none", or no set.
void group_scored(const RunConfig& config, const World& world, Build& build,
                  std::vector<ScoredSet>& sets);

/// Returns the value of zero.offload_optimizer.buffer_count = "auto" in `config` for the ranks of
/// `world` on `machine`, if memory suffices: see plan::staged_units_for().
int64_t buffers_for(const RunConfig& config, const World& world, const plan::Machine& machine);

/// Returns the share of units with states elsewhere that devices should update in a run of
/// `config`, for the ranks of `world` on `machine`: see plan::device_update_share_for().
double device_update_share_for(const RunConfig& config, const World& world,
                               const plan::Machine& machine);

/// Returns the shares of units to update before the norm is known, for the ranks of `world` on
/// `machine`: see plan::speculated_shares_for(). Returns none if the configuration allows none.
plan::UpdateShares speculated_shares_for(const RunConfig& config, const World& world,
                                         const plan::Machine& machine);

/// Returns a note that config's zero.stage3_param_persistence_threshold is below the size of every
/// unit of `plan`, so it keeps none gathered. Returns "" if it keeps one, is 0, or no unit is
/// gathered.
std::string idle_threshold(const RunConfig& config, const plan::Plan& plan);

/// Returns the learning rate of every update of a run. Throws Error(kUsage) for over 100 million.
std::vector<float> learning_rates(const RunConfig& config);

/// Returns the constants of a run's updates: loss scaling, clipping, and the optimizer's, with a
/// view of the learning `rates`. REQUIRES: `rates` outlives users.
run::Rules rules_of(const RunConfig& config, const std::vector<float>& rates);

}  // namespace zero::setup
