#pragma once

#include <vector>

#include "src/comm/shm_segment.hpp"
#include "zero/comm/mpi_world.hpp"

namespace zero::comm {

/// The files of all ranks, in rank order; this rank's own place, and that of a peer whose file
/// could not be had, hold no file. A file is only taken if it is the very one that the peer made.
using PeerFiles = std::vector<File>;

/// Opens /proc/<pid>/fd/<fd> of every peer. Collective.
PeerFiles open_through_proc(const World& world, const File& mine);

/// Every rank sends its file to every peer over a Unix socket with a random abstract name: for
/// places where /proc does not show the peers. Waits at most 10 s a peer. Collective.
PeerFiles pass_through_sockets(const World& world, const File& mine);

/// The first of the two that works on all ranks. Throws Error(kUsage), on all ranks, if none does.
/// Collective.
PeerFiles files_of_peers(const World& world, const File& mine);

}  // namespace zero::comm
