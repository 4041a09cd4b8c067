#pragma once

#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

struct MpiOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< receive buffers of reduce_scatter; pieces stream
  int group = 64;  ///< a reduce_scatter receives from so many ranks at a time, a power of two
  int part = 0;    ///< ranks of the same part make one communicator, in their order
};

/// Any ranks MPI reaches, on a duplicate of MPI_COMM_WORLD: so channels do not mix. Reductions are
/// an all-to-all of shards and our own tree, because MPI's own order of adding changes with the
/// algorithm it picks. Needs MPI_THREAD_MULTIPLE where lanes are threads. Collective.
std::unique_ptr<Communicator> make_mpi(const MpiOptions& options);

}  // namespace zero::comm
