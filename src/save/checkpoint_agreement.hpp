#pragma once

#include <functional>
#include <string>

#include "zero/base/error.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/sign_of_life.hpp"

namespace zero::save {

/// A fault on one rank, known to all of them.
struct Problem {
  Exit exit = Exit::kFinished;
  std::string what;  ///< "" for no fault
  int rank = 0;

  explicit operator bool() const { return !what.empty(); }
};

/// Runs `work` on every rank, and returns on all the problem of the first rank that throws Error.
/// Errors of the program itself pass through. Waits for ranks with slow disks; a rank whose work is
/// in vain may stop. Collective. REQUIRES: `work` does not communicate.
Problem first_problem(const launch::Peers& peers, const launch::DiskWork& disk,
                      const std::function<void()>& work);

}  // namespace zero::save
