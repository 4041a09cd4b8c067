#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/sign_of_life.hpp"

namespace zero::save {

/// A fault on one rank, known to all of them.
struct Problem {
  Exit exit = Exit::kFinished;
  std::string what;  ///< "" for no fault
  int rank = 0;
  std::string host = {};    ///< of the rank, if ranks run on several; else ""
  std::string blamed = {};  ///< `host` if rank 0's has no such fault; else ""

  explicit operator bool() const { return !what.empty(); }
};

/// Runs `work` on every rank, and returns on all the problem of the first rank that throws Error.
/// Errors of the program itself pass through. Waits for ranks with slow disks; a rank whose work is
/// in vain may stop. Collective. REQUIRES: `work` does not communicate.
Problem first_problem(const launch::Peers& peers, const launch::DiskWork& disk,
                      const std::function<void()>& work);

/// Returns the first problem in what all ranks tell: host, and if it has one exit status and text.
Problem first_problem(const std::vector<std::string>& told);

}  // namespace zero::save
