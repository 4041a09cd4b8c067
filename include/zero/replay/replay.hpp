#pragma once

#include <cstdint>
#include <string>

#include "zero/launch/session.hpp"
#include "zero/train/run.hpp"

namespace zero::replay {

/// The steps of a run that are taken again.
struct Request {
  std::string folder;    ///< of the run
  int64_t from = 0;      ///< step of a checkpoint to begin after
  int64_t to = 0;        ///< last step; 0 = the last one in metrics.jsonl
  bool bisects = false;  ///< compares digests alone, by halves, until the first wrong step is left
};

/// Takes the steps of `request` again, in memory alone, on the session's ranks. Compares loss, norm
/// and skipping with metrics.jsonl. Compares states with digests.jsonl and the last step's
/// checkpoint. order.input is the run's effective.toml. order.overrides may say where states rest.
/// Prints what was the same. Throws Ended as train::Rerun. kDevice names the first step and unit
/// that differ. kNoCheckpoint: there is no such checkpoint. kUsage: the run has no such steps, or
/// other bits on these ranks, or differs where changed settings may be why. Collective.
void replay(launch::Session& session, const train::Order& order, const Request& request);

}  // namespace zero::replay
