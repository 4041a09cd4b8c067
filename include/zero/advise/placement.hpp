#pragma once

#include <string>

#include "zero/advise/homes.hpp"
#include "zero/advise/memory_limit.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// Where everything rests and is updated, and the plan that follows.
struct Placement {
  HomeChoice homes;
  RunConfig config;           ///< without "auto": homes, ratio, buffers
  double streamed_share = 0;  ///< plan::Request::streamed_share
  state::Build build;
};

/// Chooses what `config` leaves open, each within `limit`: homes, then how many buffers serve the
/// states on their way, then the share of the units that are updated on the device though their
/// states rest elsewhere. The last has no key: no choice of it changes a number. All of it is found
/// by compiling, so it is the same on all ranks of one limit and one machine. Throws as build().
Placement choose_placement(const RunConfig& config, const state::Team& team,
                           const MemoryLimit& limit, const plan::Machine& machine);

/// For people: what was chosen, in lines; "" if nothing was.
std::string placement_text(const RunConfig& asked, const Placement& placement);

/// Adds the choices to the origins of the keys that are "auto" in `input`.
void note_placement(const Placement& placement, ConfigInput& input);

}  // namespace zero::advise
