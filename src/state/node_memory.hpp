#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/launch/session.hpp"
#include "zero/setup/build.hpp"

namespace zero::state {

/// The bytes that a rank is about to take of its host's memory.
struct HostDemand {
  std::string host;
  int64_t bytes = 0;
};

/// Throws Error(kDoesNotFit) if all ranks on `host` together take more than `available` bytes; -1:
/// unknown. Each alone may find room, and the kernel then kills one.
void require_together(const std::vector<HostDemand>& ranks, const std::string& host,
                      int64_t available);

/// Returns the bytes that a rank takes of its host for this plan: buffers there, the copy of
/// asynchronous saves, and the device's arena if the device is the host.
int64_t host_demand(const setup::Build& build);

/// Checks the demand of each node's ranks before any takes memory. Throws Ended. Collective.
void require_node_memory(launch::Session& session, const setup::Build& build);

}  // namespace zero::state
