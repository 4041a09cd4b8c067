#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zero/launch/session.hpp"
#include "zero/state/build.hpp"

namespace zero::state {

/// Bytes that a rank is about to take of the memory of its host.
struct HostDemand {
  std::string host;
  int64_t bytes = 0;
};

/// Throws Error(kDoesNotFit) where all ranks on `host` together take more than `available` bytes;
/// -1: not known. Each alone may find room for itself, and the kernel then kills one of them.
void require_together(const std::vector<HostDemand>& ranks, const std::string& host,
                      int64_t available);

/// Returns what a rank takes of its host for this plan: what rests there, the copy of asynchronous
/// saves, and the device's arena where the device is the host.
int64_t host_demand(const Build& build);

/// Asks it of the ranks of each node before any takes its memory. Throws Ended. Collective.
void require_node_memory(launch::Session& session, const Build& build);

}  // namespace zero::state
