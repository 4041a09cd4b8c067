#pragma once

#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/config/read_config.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// Whether zero.offload_optimizer.device or zero.offload_param.device is "auto".
bool chooses_homes(const RunConfig& config);

/// A warning of a pin_memory = false that changes nothing since no `device` has memory of its own,
/// with its place; "" where there is none.
std::string vain_pin_memory(const ConfigInput& input, bool device);

/// What "auto" may come to, the fastest first: every tier is filled before a slower one, and the
/// states, which a step uses once, leave a tier before the parameters. A disk only where nvme_path
/// names one. Of a configuration without "auto" itself alone.
std::vector<RunConfig> home_candidates(const RunConfig& config);

/// What "auto" has come to.
struct HomeChoice {
  RunConfig config;   ///< without "auto"; of the optimizer with the least share that must leave
  bool fits = false;  ///< if not, the homes are the slowest and `faster` says of all why
  std::vector<std::string> faster = {};  ///< homes that do not fit, with the numbers
};

/// The first of those candidates that fits within `limit`; as many optimizer states as fit stay on
/// the device, in steps of 1/32 of zero.offload_optimizer.ratio. Found by compiling, so it is the
/// same on all ranks of one limit. Throws as build().
HomeChoice choose_homes(const RunConfig& config, const state::Team& team, const MemoryLimit& limit);

/// For people, a line for each key that was "auto" and for each faster choice; "" if none was.
std::string homes_text(const RunConfig& asked, const HomeChoice& choice);

/// Adds the choice to the origins of the keys that are "auto" there, so that effective.toml tells
/// it; the keys stay as they are.
void note_homes(const HomeChoice& choice, ConfigInput& input);

/// `resolved` with the homes as they were asked for.
RunConfig with_asked_homes(RunConfig resolved, const RunConfig& asked);

}  // namespace zero::advise
