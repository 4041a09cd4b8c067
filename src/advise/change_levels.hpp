#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/config/batch_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero::advise {

/// A setting with the text to type.
struct Setting {
  std::string text;
  std::function<void(RunConfig&)> apply;
  /// Settings that change less, the smallest change first. If one works, those behind it work.
  std::vector<Setting> weaker = {};
};

/// Settings made together; empty: no change.
using Level = std::vector<Setting>;

/// Returns the texts of the settings.
std::string words_of(const Level& settings);
Level join(std::initializer_list<Level> levels);

/// Returns the present micro-batches, smaller ones in evaluations, then smaller ones in training
/// that keep the samples per step.
std::vector<Level> micro_levels(const RunConfig& config, const BatchSizes& batch);

/// Returns the present recomputation, then more of it.
std::vector<Level> recompute_levels(const RunConfig& config);
/// Returns recompute settings whose kept inputs move to this tier; empty if they already have it or
/// a slower tier as home.
std::vector<Level> activation_levels(const RunConfig& config, Home home);

/// The changes of sharding and homes, cheapest first.
struct StateLevels {
  std::vector<Level> all;
  /// Subset of `all`: if none of these fits, no change does.
  std::vector<Level> leanest;
};
/// Returns every stage from the present one on, or larger groups (zero.shard_group); at stage 3
/// also without kept units and prefetch. Then states move from host memory back to the device, and
/// from disk to host memory. Then states, later also parameters, move to host memory, to disk, and
/// to disk with some on the device. Each group also comes with fewer buffers if their number is
/// given, and with checkpoint.async = false if it is true.
StateLevels state_levels(const RunConfig& config, int ranks);

}  // namespace zero::advise
