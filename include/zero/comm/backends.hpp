#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/comm/nodes.hpp"

namespace zero::comm {

/// The way in which ranks exchange arrays: not at all, through host memory or MPI, through pinned
/// host memory (make_host_staged()), or through NCCL.
enum class Backend { self, host, staged, nccl };

/// The facts that decide the back end. They are equal on all ranks.
struct BackendFacts {
  int count = 1;
  bool drive_devices = false;
  bool share_a_device = false;  ///< NCCL refuses this
  bool share_a_card = false;    ///< parts of one device, which NCCL before 2.30 refuses
  bool have_nccl = false;
  bool nccl_shares = false;  ///< nccl_shares_devices()
  bool want_nccl = false;    ///< ZERO_COMM=nccl, which overrides the other facts
};

/// Returns the back end for these facts. A single rank gets `self`, because it runs no collective
/// and staging of NCCL would take 64 MiB.
Backend backend_for(const BackendFacts& facts);

struct MpiOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< bytes that reduce_scatter receives at a time
  int group = 64;  ///< ranks from which a reduce_scatter receives at a time, a power of two
  int part = 0;    ///< ranks with equal `part` form a communicator, in their order
  /// True if the caller has compared the calls of all ranks. Only barrier() compares them then.
  bool agreed = false;
};

/// Makes a communicator over MPI of the ranks with this rank's `options.part`, on a duplicate of
/// MPI_COMM_WORLD, so channels do not mix. Reductions are an all-to-all of shards and our own tree,
/// because MPI's order of addition depends on the algorithm that it picks. Needs
/// MPI_THREAD_MULTIPLE if lanes are threads. Collective.
std::unique_ptr<Communicator> make_mpi(const MpiOptions& options);

/// A function that a verb calls while it waits for its peers. It throws to leave the wait, as when
/// a peer has failed.
using WaitHook = void (*)(void* context);

struct ShmOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< bytes per channel of a rank; pieces share them
  int part = 0;  ///< ranks with equal `part` form a communicator, in their order
  WaitHook hook = nullptr;
  void* hook_context = nullptr;
};

/// Makes a communicator for the ranks with this rank's `options.part`, which share a node, with a
/// memory file (memfd) per rank and channel. Such files have no names that could collide or stay
/// behind, and do not fill /dev/shm. Waiting ranks sleep on a futex. Collective over all ranks of
/// MPI_COMM_WORLD. Throws Error(kUsage) if a part is on several nodes, or if a peer's file cannot
/// be opened.
std::unique_ptr<Communicator> make_shm(const ShmOptions& options);

/// Throws Error(kDoesNotFit) with the reason if this process cannot make a memory file of `bytes`,
/// as make_shm() would. Makes one and closes it.
void require_memory_files(int64_t bytes);

/// True if all ranks with this rank's `part` share one node. Collective over MPI_COMM_WORLD.
bool all_ranks_share_a_node(int part = 0);

struct TwoLevelOptions {
  /// Bytes for sums of nodes on their way. Pieces travel in chunks, of which two are on their way
  /// at a time: one within nodes, one between them.
  int64_t staging_bytes = int64_t(8) << 20;
};

/// Makes a communicator of all ranks from two. `within` is over the G ranks of this rank's node,
/// `between` over the ranks of its place on all nodes. Rank p of node m is rank m G + p. REQUIRES:
/// G is the same power of two on all nodes.
///
/// A gathered shard crosses to each other node once, by `between`, and is shared by `within`. A
/// reduce_scatter sums each shard within every node, in fp32 and unrounded. These sums cross once
/// and are added along the rest of the tree, so the bits are those of one level. Words and
/// broadcasts cross once, too. The ranks compare their calls before each verb. A thread of its own
/// runs `between` beside the caller. Destroying it is no collective.
///
/// Throws Error(kUsage) if the staging has no room for an element of each node, Error(kDoesNotFit)
/// if the system refuses the thread.
std::unique_ptr<Communicator> make_two_level(std::unique_ptr<Communicator> within,
                                             std::unique_ptr<Communicator> between,
                                             const TwoLevelOptions& options = {});

struct OfHostsOptions {
  bool one_level = false;  ///< true: never two levels
  /// [ranks] Ranks with equal part form a communicator, in their order. Empty: all ranks form one.
  std::vector<int> part_of = {};
};

/// Makes the communicator of hosts over the ranks of this rank's part, which are on `nodes`: shared
/// memory on one node, two levels where why_one_level() is empty, else MPI. All parts take the same
/// way. Collective over all ranks.
std::unique_ptr<Communicator> make_of_hosts(const Nodes& nodes, const OfHostsOptions& options = {});

struct HostStagedOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< pinned bytes; pieces stream through them
};

/// Makes a communicator for arrays in device memory over `host`, a communicator of hosts. It copies
/// each piece to pinned memory, exchanges it there, and copies it back. Serves also several ranks
/// that share one GPU, which NCCL refuses. Its sums have the bits of `host`. Verbs are complete
/// when they return. Throws Error(kUsage) if the staging has no room for an element of each rank.
std::unique_ptr<Communicator> make_host_staged(std::unique_ptr<Communicator> host,
                                               const HostStagedOptions& options);

/// True if this build is for GPUs and found NCCL 2.27 or later. A build for GPUs without NCCL uses
/// make_host_staged().
bool has_nccl();

/// True if this NCCL is 2.30 or later. It tells parts of one GPU apart, and drives one GPU by
/// several ranks if NCCL_MULTI_RANK_GPU_ENABLE=1. Throws as make_nccl().
bool nccl_shares_devices();

struct NcclOptions {
  /// bytes of device memory in which reduce_scatter receives; 0 if the communicator makes no sums
  int64_t staging_bytes = int64_t(64) << 20;
  int group = 64;  ///< ranks from which a reduce_scatter receives at a time, a power of two
  int part = 0;    ///< ranks with equal `part` form a communicator; all parts have one size
  /// A communicator of make_nccl() over the same ranks, or null. The new communicator shares its
  /// connections and their buffers, to save memory. Kernels of the two then run one after the
  /// other.
  const Communicator* shares_with = nullptr;
};

/// Makes a communicator over NCCL for the ranks with this rank's `options.part`, with one GPU per
/// rank. Verbs are asynchronous on their stream. Kernels of one communicator run in order. Kernels
/// of several communicators can wait for each other, so all ranks must queue them in one order
/// (needs_one_order()). NCCL 2.26 and later starts them in that order.
///
/// A reduce_scatter is an all-to-all of shards and our own tree (kernels::stacked_sum), as on every
/// other back end. NCCL itself would sum in the dtype that travels. If ranks call different verbs,
/// NCCL waits: nothing checks this here. An error of NCCL ends as kHang if a peer or a link was
/// lost, as kDoesNotFit if memory ran out, else as kInternal. Destruction is collective, unless a
/// failure was seen.
///
/// Collective. Throws Error(kUsage) on a build without NCCL, and if two ranks drive one GPU, which
/// NCCL refuses (make_host_staged() serves them). Ranks with different NCCL_HOSTID may share a GPU.
/// So may all ranks if nccl_shares_devices() and NCCL_MULTI_RANK_GPU_ENABLE=1.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options);

}  // namespace zero::comm
