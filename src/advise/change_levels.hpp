#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/config/batch.hpp"
#include "zero/config/run_config.hpp"

namespace zero::advise {

/// One setting, and what to type for it.
struct Setting {
  std::string text;
  std::function<void(RunConfig&)> apply;
  /// Settings that change less, the one that changes least first. Where one works, those after it
  /// do.
  std::vector<Setting> weaker = {};
};

/// Settings that are made together; none: as it is.
using Level = std::vector<Setting>;

/// Its settings, in words.
std::string words_of(const Level& settings);
Level join(std::initializer_list<Level> levels);

/// The present micro-batches, fewer samples at a time in evaluations, then smaller micro-batches
/// that leave the samples of a step as they are.
std::vector<Level> micro_levels(const RunConfig& config, const BatchSizes& batch);

/// The present recomputation, then more of it.
std::vector<Level> recompute_levels(const RunConfig& config);
/// Recompute settings whose kept inputs move to this tier; empty if they already rest there or on a
/// slower tier.
std::vector<Level> activation_levels(const RunConfig& config, Home home);

/// Changes of how states are cut and where they rest, the cheapest first.
struct StateLevels {
  std::vector<Level> all;
  /// Some of them: where none of these fits, none of all does.
  std::vector<Level> leanest;
};
/// Every stage from the present one on; at stage 3 no units kept, no prefetch. Then what rests in
/// host memory is back on the device, and what rests on disk is in host memory. Then states, later
/// also parameters, are in host memory, on disk, and there with some on the device. Each of these
/// groups also with fewer buffers, where their number is said, and with checkpoint.async = false,
/// where it is true.
StateLevels state_levels(const RunConfig& config, int ranks);

}  // namespace zero::advise
