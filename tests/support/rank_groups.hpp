#pragma once
/// One test body over every back end: ranks are MPI processes, threads of one process, or just one.

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/thread_group.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/communicator.hpp"

namespace zero::testing {

struct RankGroup {
  std::string backend;
  int threads = 0;               ///< ranks of "thread"; other back ends take what they find
  int64_t staging_bytes = 1024;  ///< small, so that small pieces travel in several chunks

  /// False where this launch has the wrong number of processes for it.
  bool fits() const {
    int processes = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    return processes == 1 || backend == "shm" || backend == "mpi";
  }
};

inline std::ostream& operator<<(std::ostream& out, const RankGroup& group) {
  out << group.backend;
  return group.threads > 0 ? out << group.threads : out << group.staging_bytes;
}

using Members = std::vector<std::unique_ptr<comm::Communicator>>;

inline std::unique_ptr<comm::Communicator> join(const RankGroup& group) {
  if (group.backend == "shm") return comm::make_shm({.staging_bytes = group.staging_bytes});
  if (group.backend == "mpi") return comm::make_mpi({.staging_bytes = group.staging_bytes});
  return comm::make_self();
}

/// Calls body(communicators of `channels` channels) as every rank of `threads` threads. A rank that
/// throws makes its peers throw; the first error is thrown here.
inline void as_threads(int threads, int channels, const std::function<void(Members&)>& body) {
  comm::ThreadGroup group(threads);
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&](int rank) {
    try {
      Members members;
      for (int c = 0; c < channels; ++c) members.push_back(group.join(rank, c));
      body(members);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      group.abort();
    }
  };
  std::vector<std::thread> ranks;
  for (int r = 0; r < threads; ++r) ranks.emplace_back(run, r);
  for (auto& rank : ranks) rank.join();
  if (error) std::rethrow_exception(error);
}

/// Calls body(communicators of `channels` channels) as every rank of the group.
inline void as_every_rank(const RankGroup& group, int channels,
                          const std::function<void(Members&)>& body) {
  if (group.backend == "thread") return as_threads(group.threads, channels, body);
  Members members;
  for (int c = 0; c < channels; ++c) members.push_back(join(group));
  body(members);
}

}  // namespace zero::testing
