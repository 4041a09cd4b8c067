#pragma once
/// One test body over every back end: ranks are MPI processes, threads of one process, or just one.

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <deque>
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
  int node_ranks = 0;            ///< two levels over nodes of so many ranks; 0: one level

  /// False where this launch has the wrong number of processes or of devices for it.
  bool fits() const {
    if (backend == "nccl") return has_nccl_for_all();
    if (backend == "mpi" && node_ranks > 0) return processes() % node_ranks == 0;
    return processes() == 1 || backend == "shm" || backend == "mpi";
  }
};

inline std::ostream& operator<<(std::ostream& out, const RankGroup& group) {
  out << group.backend << (group.threads > 0 ? group.threads : group.staging_bytes);
  return group.node_ranks > 0 ? out << "Nodes" << group.node_ranks : out;
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

/// Two levels over nodes that are groups of neighbouring processes.
inline std::unique_ptr<comm::Communicator> join_levels(const RankGroup& group) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto within =
      comm::make_shm({.staging_bytes = group.staging_bytes, .part = rank / group.node_ranks});
  auto between = comm::make_mpi(
      {.staging_bytes = group.staging_bytes, .part = rank % group.node_ranks, .agreed = true});
  return comm::make_two_level(std::move(within), std::move(between),
                              {.staging_bytes = group.staging_bytes});
}

/// `members` are those of this rank so far.
inline std::unique_ptr<comm::Communicator> join(const RankGroup& group, const Members& members) {
  if (group.backend == "nccl") return join_nccl(group, members);
  if (group.node_ranks > 0) return join_levels(group);
  if (group.backend == "shm") return comm::make_shm({.staging_bytes = group.staging_bytes});
  if (group.backend == "mpi") return comm::make_mpi({.staging_bytes = group.staging_bytes});
  return comm::make_self();
}

/// Ranks that are threads, on nodes of `node_ranks` each, which exchange in two levels.
class ThreadNodes {
 public:
  ThreadNodes(int ranks, int node_ranks, int64_t staging_bytes)
      : node_ranks_(node_ranks), staging_bytes_(staging_bytes) {
    for (int n = 0; n < ranks / node_ranks; ++n) within_.emplace_back(node_ranks);
    for (int p = 0; p < node_ranks; ++p) between_.emplace_back(ranks / node_ranks);
  }

  std::unique_ptr<comm::Communicator> join(int rank, int channel) {
    const int node = rank / node_ranks_, place = rank % node_ranks_;
    return comm::make_two_level(within_[size_t(node)].join(place, channel),
                                between_[size_t(place)].join(node, channel),
                                {.staging_bytes = staging_bytes_});
  }
  void abort() {
    for (auto* groups : {&within_, &between_}) {
      for (comm::ThreadGroup& group : *groups) group.abort();
    }
  }

 private:
  int node_ranks_;
  int64_t staging_bytes_;
  std::deque<comm::ThreadGroup> within_, between_;
};

/// Calls body(communicators of `channels` channels) as every rank of `threads` threads of `group`.
/// A rank that throws makes its peers throw; the first error is thrown here.
template <class Group>
void as_threads_of(Group& group, int threads, int channels,
                   const std::function<void(Members&)>& body) {
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

inline void as_threads(int threads, int channels, const std::function<void(Members&)>& body) {
  comm::ThreadGroup group(threads);
  as_threads_of(group, threads, channels, body);
}

/// Calls body(communicators of `channels` channels) as every rank of the group.
inline void as_every_rank(const RankGroup& group, int channels,
                          const std::function<void(Members&)>& body) {
  if (group.backend == "thread" && group.node_ranks > 0) {
    ThreadNodes nodes(group.threads, group.node_ranks, group.staging_bytes);
    return as_threads_of(nodes, group.threads, channels, body);
  }
  if (group.backend == "thread") return as_threads(group.threads, channels, body);
  Members members;
  for (int c = 0; c < channels; ++c) members.push_back(join(group, members));
  body(members);
}

}  // namespace zero::testing
