#pragma once
/// One test body over every back end: ranks are MPI processes, threads of one process, or just one.

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/device_mirror.hpp"
#include "tests/support/thread_group.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/device/device.hpp"

namespace zero::testing {

inline int processes() {
  int count = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

/// True if NCCL is there and each process has a device of its own, or ZERO_COMM=nccl in the
/// environment says that they may share one (tools/nccl_on_one_gpu.sh). Takes the device.
inline bool has_nccl_for_all() {
  if (!comm::has_nccl()) return false;
  if (!drives_devices()) return true;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int devices = int(usable_devices().size());
  const char* const wanted = std::getenv("ZERO_COMM");
  if (processes() > devices && (!wanted || std::string(wanted) != "nccl")) return false;
  use_device(rank % devices);
  return true;
}

struct RankGroup {
  std::string backend;
  int threads = 0;               ///< ranks of "thread"; other back ends take what they find
  int64_t staging_bytes = 1024;  ///< small, so that small pieces travel in several chunks

  /// False where this launch has the wrong number of processes or of devices for it.
  bool fits() const {
    if (backend == "nccl") return has_nccl_for_all();
    return processes() == 1 || backend == "shm" || backend == "mpi";
  }
};

inline std::ostream& operator<<(std::ostream& out, const RankGroup& group) {
  out << group.backend;
  return group.threads > 0 ? out << group.threads : out << group.staging_bytes;
}

using Members = std::vector<std::unique_ptr<comm::Communicator>>;

/// NCCL's third communicator of a rank uses the connections of its first. On a device the arrays of
/// tests lie in host memory, so the verbs work on copies.
inline std::unique_ptr<comm::Communicator> join_nccl(const RankGroup& group,
                                                     const Members& members) {
  const comm::Communicator* first = members.size() == 2 ? members[0].get() : nullptr;
  if (const auto* mirror = dynamic_cast<const DeviceMirror*>(first)) first = &mirror->inner();
  auto made = comm::make_nccl({.staging_bytes = group.staging_bytes, .shares_with = first});
  if (!drives_devices()) return made;
  return std::make_unique<DeviceMirror>(std::move(made));
}

/// `members` are those of this rank so far.
inline std::unique_ptr<comm::Communicator> join(const RankGroup& group, const Members& members) {
  if (group.backend == "nccl") return join_nccl(group, members);
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
  for (int c = 0; c < channels; ++c) members.push_back(join(group, members));
  body(members);
}

}  // namespace zero::testing
