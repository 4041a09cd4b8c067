#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "zero/base/error.hpp"

namespace zero::launch {

/// What ends a run before its time, and where it was found.
struct Failure {
  Exit exit = Exit::kInternal;
  std::string what;
  int rank = 0;
  std::string host;
  int64_t step = 0;  ///< 0: before the first
};

/// The status and words of a caught exception: Error as it is, refused memory and threads as
/// kDoesNotFit, what a file system refuses as kIo, all else as kInternal.
Failure failure_of(const std::exception_ptr& error);

/// "E0700": E, two digits of the exit status, 00.
std::string error_id(const Failure& failure);

/// "zeroapp: error E0700 [rank 3 host n2 step 1200] what".
/// Further lines of `what` follow as they are, so exactly one line begins with "zeroapp: error".
std::string error_line(const Failure& failure);

/// Writes the failure to <folder>/error.json unless a failure is there already. True for the rank
/// that wrote it: it has the right to print. True also without a folder (""), and, with a warning,
/// where the file cannot be written.
bool claim_error_record(const std::string& folder, const Failure& failure);

/// Thrown where all ranks already know of the failure and one of them has printed it.
struct Ended {
  Exit exit;
};

}  // namespace zero::launch
