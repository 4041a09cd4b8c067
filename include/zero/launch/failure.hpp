#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "zero/base/error.hpp"

namespace zero::launch {

/// The cause that ends a run early, and the place where it was found.
struct Failure {
  Exit exit = Exit::kInternal;
  std::string what;
  int rank = 0;
  std::string host;
  int64_t step = 0;  ///< 0: before the first step
  /// Node at fault, without which a job may go on; "" if unknown.
  std::string blamed = {};
  bool knows_node = false;  ///< true: an empty `blamed` is not this rank's node either
};

/// A failure with the node at fault, or "": a hang, a death, wrong numbers, a folder that one node
/// cannot write.
class NodeError : public Error {
 public:
  NodeError(Exit exit, const std::string& what, std::string node)
      : Error(exit, what), node_(std::move(node)) {}
  const std::string& node() const { return node_; }

 private:
  std::string node_;
};

/// Returns the failure of a caught exception: its exit status, words and blamed node. Rank, host
/// and step stay unset. An Error stays as it is, refused memory and threads become kDoesNotFit,
/// errors of a file system kIo, all others kInternal.
Failure failure_of(const std::exception_ptr& error);

/// Returns the number of an error for people, "E0700": E, two digits of the exit status, 00.
std::string error_id(const Failure& failure);

/// Returns the text to print for a failure, "zeroapp: error E0700 [rank 3 host n2 step 1200] what".
/// Only one line begins with "zeroapp: error", because further lines of `what` follow unchanged.
std::string error_line(const Failure& failure);

/// Writes the failure to <folder>/error.json unless a failure is there already. True for the rank
/// that wrote it, which may print. True also without a folder (""), and, with a warning, if the
/// file cannot be written.
bool claim_error_record(const std::string& folder, const Failure& failure);

/// An exception that is thrown when all ranks know of the failure and one has printed it.
struct Ended {
  Exit exit;
};

}  // namespace zero::launch
