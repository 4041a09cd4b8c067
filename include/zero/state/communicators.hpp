#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/launch/session.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/run/executor.hpp"

namespace zero::state {

/// The communicators of a rank.
struct Communicators {
  std::vector<std::unique_ptr<comm::Communicator>> all;  ///< in the order of run::lane_teams()
  plan::Groups groups = {};
  /// Bytes that they take of the device, outside of all plans; 0 if the device is the host.
  int64_t device_bytes = 0;
  std::string one_level = {};  ///< as why_one_level() returns it

  /// Returns the communicators by lane.
  run::LaneComms lanes() const;
  plan::Borders borders() const;
};

/// Runs every verb of each lane once. Collective.
void warm_up(const Communicators& comms);

/// Makes the communicators of the session's ranks, in groups of `group_ranks` as in plan::Request,
/// and warms them up. A limit that is read afterwards counts their memory, so a plan within it fits
/// in every step. An error on this rank ends all. Collective.
Communicators ready_communicators(launch::Session& session, int group_ranks = 0);

}  // namespace zero::state
