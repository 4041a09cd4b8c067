#pragma once
/// The changes of settings that are tried.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zero/config/batch_keys.hpp"
#include "zero/config/run_config.hpp"

namespace zero::explain {

/// Settings as they are typed, "zero.stage=2".
using Settings = std::vector<std::string>;

/// A run as its changes depend on it.
struct Present {
  const RunConfig& config;  ///< without "auto" homes
  BatchSizes batch;
  int64_t ranks = 1, threads = 1, node_ranks = 1;
  int64_t cores = 0;               ///< of a node that a run may use; 0 = unknown
  bool gpus = false;               ///< each rank computes on a GPU
  int64_t largest_unit = 0;        ///< elements
  int64_t most_micro_samples = 0;  ///< largest micro-batch that fits, with this accumulation
};

/// A row: one kind of change, with the settings to try. An empty list: nothing to change.
struct Lever {
  std::string_view name;
  std::vector<Settings> (*values)(const Present&);
};
std::span<const Lever> levers();

/// Returns the settings of a micro-batch and accumulation that a run of this configuration lacks.
Settings batch_settings(const Present& present, int64_t micro, int64_t accumulation);

}  // namespace zero::explain
