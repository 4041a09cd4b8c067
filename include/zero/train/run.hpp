#pragma once

#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/launch/session.hpp"
#include "zero/launch/stop.hpp"
#include "zero/model/family.hpp"

namespace zero::train {

/// What was typed, and what the program that it was typed to knows.
struct Order {
  const model::Catalogue& catalogue;
  std::string program;                         ///< as a reader can type it again
  std::string version;                         ///< of this program; the same on every rank
  std::string input;                           ///< the input file
  std::vector<std::string> overrides;          ///< key=value, in their order
  launch::TimeLimit::Clock::time_point start;  ///< of the program
};

/// One run of the program on one rank, from the input file to the summary. Returns kFinished, or
/// kRequeue where something else than the run or its user has ended it, with a checkpoint to go on
/// from or before its first step. Throws Ended with the status of what went wrong, alike on every
/// rank; any other error is this rank's alone. Collective.
Exit run(launch::Session& session, const Order& order);

}  // namespace zero::train
