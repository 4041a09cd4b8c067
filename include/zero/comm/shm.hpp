#pragma once

#include <cstdint>
#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// Called while a verb waits for its peers; throws to leave the wait (a peer has failed).
using WaitHook = void (*)(void* context);

struct ShmOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< of each rank and channel; pieces stream through it
  WaitHook hook = nullptr;
  void* hook_context = nullptr;
};

/// Ranks of one node through nameless shared memory files (memfd), one segment a rank and channel:
/// no name to collide or to leave behind, no /dev/shm to fill. Waiting ranks sleep on a futex.
/// Collective over all ranks of MPI_COMM_WORLD, which must share the node; throws
/// Error(kUsage) where they do not, or where a peer's file cannot be opened.
std::unique_ptr<Communicator> make_shm(const ShmOptions& options);

/// Tries whether this process may make such a file of so many bytes. Throws Error(kEnvironment)
/// with the reason where make_shm() would.
void require_memory_files(int64_t bytes);

/// True if all ranks of MPI_COMM_WORLD share one node. Collective.
bool all_ranks_share_a_node();

}  // namespace zero::comm
