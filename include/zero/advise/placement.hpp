#pragma once

#include <string>
#include <vector>

#include "zero/advise/memory_limit.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/setup/build.hpp"

namespace zero::advise {

/// The result for a key that leaves a choice open.
struct Choice {
  std::string key, asked;                 ///< key of the input file, and "auto" or "max"
  std::string chosen;                     ///< result, for people
  std::string why = {};                   ///< limit that decided; "" if `refused` tells
  std::vector<std::string> refused = {};  ///< better values that do not fit, with numbers
};
using Choices = std::vector<Choice>;

/// Returns choices as text: a line for each choice, and for each value refused before it.
std::string choices_text(const Choices& choices);

/// Adds each choice to the origin of its key in input.origins, for effective.toml. The keys stay
/// unchanged: "auto" stays in that file, and the note on a number that replaces "max" says so.
void note_choices(const Choices& choices, ConfigInput& input);

/// True if zero.offload_optimizer.device or zero.offload_param.device of `config` is "auto".
bool chooses_homes(const RunConfig& config);

/// Returns a warning if the input's pin_memory = false has no effect, with its place; otherwise "".
/// It has none if `device` is false: no device has memory of its own.
std::string vain_pin_memory(const ConfigInput& input, bool device);

/// Returns `config` with each possible choice of homes for "auto", fastest first. A tier is filled
/// before a slower one. Optimizer states leave a tier before parameters, because a step uses them
/// once. Disks need an nvme_path. Returns only `config` if nothing is "auto".
std::vector<RunConfig> home_candidates(const RunConfig& config);

/// The result for homes that are "auto".
struct HomeChoice {
  RunConfig config;   ///< without "auto"; ratio: the least share that must leave
  bool fits = false;  ///< false: homes are the slowest, and `faster` has all reasons
  std::vector<std::string> faster = {};  ///< faster homes that do not fit, with numbers
};

/// Returns the first of home_candidates(config) whose plan for `world` fits within `limit`. As many
/// optimizer states as fit stay on the device, in steps of 1/32 of zero.offload_optimizer.ratio.
/// Ranks with equal limits get equal results, because it only compiles. Throws the errors of
/// build().
HomeChoice choose_homes(const RunConfig& config, const setup::World& world,
                        const MemoryLimit& limit);

/// Returns `choice`, a result of choose_homes(), as choices for the keys that are "auto" in
/// `asked`. Only the last one lists homes that do not fit.
Choices home_choices(const RunConfig& asked, const HomeChoice& choice);

/// Returns `resolved` with the homes of `asked`.
RunConfig with_asked_homes(RunConfig resolved, const RunConfig& asked);

/// True if zero.offload_optimizer.buffer_count of `config` is "auto" and has an effect. REQUIRES:
/// homes are chosen.
bool chooses_buffers(const RunConfig& config);

/// Returns the number for zero.offload_optimizer.buffer_count = "auto" in a plan of `config` for
/// `world`. It is buffers_for() on `machine`, or fewer if `limit` requires it, at least one. Ranks
/// with equal limits get equal results, because it only compiles. Throws the errors of build().
int64_t choose_buffers(const RunConfig& config, const setup::World& world, const MemoryLimit& limit,
                       const plan::Machine& machine);

/// Returns the number of buffers in `chosen` as a choice; empty if `asked` does not leave it open.
Choices buffer_choices(const RunConfig& asked, const RunConfig& chosen);

/// Returns warnings on settings of `input` that the user wrote and `plan` does not use, with their
/// places.
std::vector<std::string> plan_warnings(const ConfigInput& input, const plan::Plan& plan);

/// A placement of all states with their update sites, and its plan.
struct Placement {
  RunConfig config;                ///< without "auto": homes, ratio, buffers
  plan::UpdateShares shares = {};  ///< units updated on the device, and before the norm
  setup::Build build;
  Choices choices = {};

  /// Returns the choices and the update sites of staged states as lines; "" if nothing was open.
  std::string text() const;
};

/// Chooses all that `config` leaves open for `world`, each within `limit` and by the rates of
/// `machine`. Returns it with its plan. First come homes, the number of buffers for staged states,
/// and the share of units with other homes that the device updates. This share has no key, because
/// it changes no result. Last comes the number of units updated before the norm is known, from the
/// remaining memory. With zero.offload_optimizer.speculate = "auto" units are speculated if a
/// device with its own memory gains. Ranks with equal limits and machines get equal results,
/// because it only compiles. Throws the errors of build(), and Error(kDoesNotFit) if speculate =
/// true has no room.
Placement choose_placement(const RunConfig& config, const setup::World& world,
                           const MemoryLimit& limit, const plan::Machine& machine);

}  // namespace zero::advise
