#pragma once

#include <cstdint>
#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// Through what ranks exchange arrays: with nobody, through the host's memory or MPI, through
/// pinned memory of the host (make_host_staged()), or through NCCL.
enum class Backend { self, host, staged, nccl };

/// What decides it, the same on all ranks.
struct BackendFacts {
  int count = 1;
  bool drive_devices = false;
  bool share_a_device = false;  ///< which NCCL refuses
  bool share_a_card = false;    ///< parts of one device, which NCCL before 2.30 refuses
  bool have_nccl = false;
  bool nccl_shares = false;  ///< nccl_shares_devices()
  bool want_nccl = false;    ///< ZERO_COMM=nccl, which counts whatever the rest says
};

/// One rank has no collective to run, so it makes no communicator of NCCL's, whose staging would
/// take 64 MiB.
Backend backend_for(const BackendFacts& facts);

struct MpiOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< receive buffers of reduce_scatter; pieces stream
  int group = 64;  ///< a reduce_scatter receives from so many ranks at a time, a power of two
  int part = 0;    ///< ranks of the same part make one communicator, in their order
};

/// Any ranks MPI reaches, on a duplicate of MPI_COMM_WORLD: so channels do not mix. Reductions are
/// an all-to-all of shards and our own tree, because MPI's own order of adding changes with the
/// algorithm it picks. Needs MPI_THREAD_MULTIPLE where lanes are threads. Collective.
std::unique_ptr<Communicator> make_mpi(const MpiOptions& options);

/// Called while a verb waits for its peers; throws to leave the wait (a peer has failed).
using WaitHook = void (*)(void* context);

struct ShmOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< of each rank and channel; pieces stream through it
  WaitHook hook = nullptr;
  void* hook_context = nullptr;
};

/// Ranks of one node through nameless shared memory files (memfd), one segment a rank and channel:
/// no name to collide or to leave over, no /dev/shm to fill. Waiting ranks sleep on a futex.
/// Collective over all ranks of MPI_COMM_WORLD, which must share the node; throws
/// Error(kUsage) where they do not, or where a peer's file cannot be opened.
std::unique_ptr<Communicator> make_shm(const ShmOptions& options);

/// Tries whether this process may make such a file of so many bytes. Throws Error(kDoesNotFit)
/// with the reason where make_shm() would.
void require_memory_files(int64_t bytes);

/// True if all ranks of MPI_COMM_WORLD share one node. Collective.
bool all_ranks_share_a_node();

struct HostStagedOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< pinned; pieces stream through it
};

/// Arrays in device memory over a communicator of the host: each piece is copied to pinned memory,
/// exchanged there, and copied back. Works wherever `host` does, also for several ranks that share
/// one GPU, which NCCL refuses. Its sums are those of `host`, bit for bit. A verb is complete when
/// it returns. Throws Error(kUsage) where the staging has no room for an element of each rank.
std::unique_ptr<Communicator> make_host_staged(std::unique_ptr<Communicator> host,
                                               const HostStagedOptions& options);

/// Whether this build has it: one for GPUs that found NCCL 2.27 or later. A build for GPUs without
/// it exchanges through host memory (make_host_staged()).
bool has_nccl();

/// True if this NCCL can drive one GPU by several ranks (2.30 and later, when
/// NCCL_MULTI_RANK_GPU_ENABLE=1), and tells parts of one GPU from each other. Throws as
/// make_nccl().
bool nccl_shares_devices();

struct NcclOptions {
  /// Device memory that reduce_scatter receives in; 0 for a communicator that makes no sums.
  int64_t staging_bytes = int64_t(64) << 20;
  int group = 64;  ///< a reduce_scatter receives from so many ranks at a time, a power of two
  int part = 0;    ///< ranks of the same part make one communicator; all parts are of one size
  /// A communicator of make_nccl() and of the same ranks, whose connections and their buffers the
  /// new one uses too, which saves their memory. Kernels of the two then run one behind the other.
  /// Null: connections of its own.
  const Communicator* shares_with = nullptr;
};

/// One GPU a rank, through NCCL, over all ranks of MPI_COMM_WORLD; a communicator of its own each
/// time, since one launches in order. Verbs are really asynchronous on their stream; the kernels of
/// several communicators could wait for each other, so that all ranks queue them in one order
/// (needs_one_order()), in which NCCL 2.26 and later lets them begin.
///
/// A reduce_scatter is an all-to-all of shards and our own tree (kernels::stacked_sum), as on every
/// other back end: NCCL's own sums are in the dtype that travels. That ranks call the same thing is
/// not checked here: NCCL would wait. Errors of NCCL end as kHang where a peer or a link was lost,
/// as kDoesNotFit where memory ran out, else as kInternal. Destruction is collective, unless a
/// failure was seen.
///
/// Collective. Throws Error(kUsage) on a build without NCCL, and where two ranks drive one GPU,
/// which NCCL refuses; make_host_staged() serves these. Ranks that NCCL_HOSTID puts on different
/// hosts may do so, and all where nccl_shares_devices() and the variable says so.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options);

}  // namespace zero::comm
