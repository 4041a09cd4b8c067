#pragma once

#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

/// Whether this build has it: one for GPUs that found NCCL 2.27 or later. A build for GPUs without
/// it exchanges through host memory (make_host_staged()).
bool has_nccl();

struct NcclOptions {
  int64_t staging_bytes = int64_t(64) << 20;  ///< device memory that reduce_scatter receives in
  int part = 0;  ///< ranks of the same part make one communicator; all parts are of one size
};

/// One GPU a rank, through NCCL, over all ranks of MPI_COMM_WORLD; a communicator of its own each
/// time, since one launches in order. Verbs are really asynchronous on their stream; the kernels of
/// several communicators could wait for each other, so that all ranks queue them in one order
/// (needs_one_order()), in which NCCL 2.26 and later lets them begin.
///
/// A reduce_scatter is an all-to-all of shards and our own tree (kernels/stacked_sum), as on every
/// other back end: NCCL's own sums are in the dtype that travels. That ranks call the same thing is
/// not checked here: NCCL would wait. Collective. Throws Error(kUsage) on a build without NCCL and
/// where two ranks drive one GPU, which NCCL refuses; make_host_staged() serves these.
std::unique_ptr<Communicator> make_nccl(const NcclOptions& options);

}  // namespace zero::comm
