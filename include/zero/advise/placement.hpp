#pragma once

#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// What a key that leaves something open has come to.
struct Choice {
  std::string key, asked;  ///< of the input file: "auto" or "max"
  std::string chosen;      ///< for people
  std::string why = {};    ///< the limit that it was chosen by; "" where `refused` tells
  std::vector<std::string> refused = {};  ///< better ones that do not fit, with the numbers
};
using Choices = std::vector<Choice>;

/// For people: a line for each choice, and for each that was refused before it.
std::string choices_text(const Choices& choices);

/// Adds each to the origin of its key, so that effective.toml tells it; the keys stay as they are.
/// "auto" stands in that file too; of "max", which is replaced by its number, the note says so.
void note_choices(const Choices& choices, ConfigInput& input);

/// Whether zero.offload_optimizer.device or zero.offload_param.device is "auto".
bool chooses_homes(const RunConfig& config);

/// A warning of a pin_memory = false that changes nothing since no `device` has memory of its own,
/// with its place; "" where there is none.
std::string vain_pin_memory(const ConfigInput& input, bool device);

/// What "auto" may come to, the fastest first: every tier is filled before a slower one, and the
/// states, which a step uses once, leave a tier before the parameters. A disk only where nvme_path
/// names one. If nothing is "auto", the list holds the configuration alone.
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
HomeChoice choose_homes(const RunConfig& config, const state::World& world,
                        const MemoryLimit& limit);

/// The keys of `asked` that were "auto"; "does not fit" is said once, after the last of them.
Choices home_choices(const RunConfig& asked, const HomeChoice& choice);

/// `resolved` with the homes as they were asked for.
RunConfig with_asked_homes(RunConfig resolved, const RunConfig& asked);

/// Whether zero.offload_optimizer.buffer_count is "auto" and counts anything. Homes are chosen.
bool chooses_buffers(const RunConfig& config);

/// What buffer_count = "auto" comes to: as many buffers as buffers_for() says, fewer where `limit`
/// ends before, at least one. Found by compiling, so it is the same on all ranks of one limit.
/// Throws as build().
int64_t choose_buffers(const RunConfig& config, const state::World& world, const MemoryLimit& limit,
                       const plan::Machine& machine);

/// None where `asked` leaves nothing to choose.
Choices buffer_choices(const RunConfig& asked, const RunConfig& chosen);

/// What a plan shows of settings that the user wrote and that it has no use for, each with its
/// place.
std::vector<std::string> plan_warnings(const ConfigInput& input, const plan::Plan& plan);

/// Where everything rests and is updated, and the plan that follows.
struct Placement {
  RunConfig config;                ///< without "auto": homes, ratio, buffers
  plan::UpdateShares shares = {};  ///< of units that the device updates, and before the norm
  state::Build build;
  Choices choices = {};

  /// For people: the choices, and where the states on their way are updated; "" if nothing was
  /// open.
  std::string text() const;
};

/// Chooses what `config` leaves open, each within `limit`: homes, then how many buffers serve the
/// states on their way, then the share of the units that are updated on the device though their
/// states rest elsewhere, which has no key, as no choice of it changes a number. Last, from the
/// memory that all this leaves: how many units are updated before the norm is known. With
/// zero.offload_optimizer.speculate = "auto" some are where a device with memory of its own gains
/// by it. All of it is found by compiling, so it is the same on all ranks of one limit and one
/// machine. Throws as build(), and Error(kDoesNotFit) where speculate = true has no room.
Placement choose_placement(const RunConfig& config, const state::World& world,
                           const MemoryLimit& limit, const plan::Machine& machine);

}  // namespace zero::advise
