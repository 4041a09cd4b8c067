#pragma once

#include <memory>

#include "zero/comm/communicator.hpp"

namespace zero::comm {

struct HostStagedOptions {
  int64_t staging_bytes = int64_t(8) << 20;  ///< pinned; pieces stream through it
};

/// Arrays in device memory over a communicator of the host: each piece is copied to pinned memory,
/// exchanged there, and copied back. Works wherever `host` does, also for several ranks that share
/// one GPU, which NCCL refuses. Its sums are those of `host`, bit for bit. A verb is complete when
/// it returns. Throws Error(kUsage) where the staging has no room for an element of each rank.
std::unique_ptr<Communicator> make_host_staged(std::unique_ptr<Communicator> host,
                                               const HostStagedOptions& options);

}  // namespace zero::comm
