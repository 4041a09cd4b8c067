#pragma once

#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/stop.hpp"
#include "zero/model/family.hpp"

namespace zero::train {

/// The typed command, with the catalogue and version of the program.
struct Order {
  const model::Catalogue& catalogue;
  std::string program;                         ///< name that a reader can type again
  std::string version;                         ///< version of the program, equal on every rank
  std::string input;                           ///< the input file
  std::vector<std::string> overrides;          ///< key=value, in typed order
  launch::TimeLimit::Clock::time_point start;  ///< start of the program
};

/// Runs the typed command `order` on this rank of the session, from the input file to the summary.
/// Returns kRequeue if something else than the run or its user ended it, and a launch can go on:
/// from a checkpoint, or because no step was taken. Returns kFinished otherwise. Throws Ended with
/// the status of the failure, alike on every rank. Any other error is this rank's alone.
/// Collective.
Exit run(launch::Session& session, const Order& order);

}  // namespace zero::train
