#pragma once

#include <functional>
#include <string>

#include "zero/base/error.hpp"
#include "zero/launch/peers.hpp"

namespace zero::save {

/// What went wrong on one rank, known to all of them.
struct Problem {
  Exit exit = Exit::kFinished;
  std::string what;  ///< "" if nothing did
  int rank = 0;

  explicit operator bool() const { return !what.empty(); }
};

/// Runs `work`, which must not communicate, on every rank, and tells all the problem of the first
/// rank that throws Error. Errors of the program itself pass through. A rank whose disk is slow is
/// waited for; one whose work is in vain may stop. Collective.
Problem first_problem(const launch::Peers& peers, const launch::DiskWork& disk,
                      const std::function<void()>& work);

}  // namespace zero::save
