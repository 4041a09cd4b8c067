#pragma once

#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// Ranks that are threads of one process: peers read each other's buffers directly.
class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks);
  ~ThreadGroup();

  /// The communicator of `rank` on channel `channel`; channels are independent of each other.
  /// The group outlives it. Thread-safe.
  std::unique_ptr<Communicator> join(int rank, int channel);

  /// Wakes every rank that waits in a verb; each throws Error(kInternal, reason). For a rank that
  /// fails while its peers wait for it.
  void abort();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace zero::comm
