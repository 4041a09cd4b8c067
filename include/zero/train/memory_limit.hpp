#pragma once

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::train {

/// The bytes that a rank may use, and where the number comes from.
struct MemoryLimit {
  int64_t bytes = 0;  ///< 0: no limit is known
  std::string source;
};

/// memory.device_limit if it is given; else what a rank of the named machine has.
MemoryLimit machine_limit(const RunConfig& config, const plan::Machine& machine);

/// memory.device_limit if it is given, else this host's cgroup limit or available memory, whichever
/// is less, divided by the ranks of the node. Here devices have the host's memory, so that
/// memory.host_limit, divided likewise, counts where it is less.
MemoryLimit host_limit(const RunConfig& config, int node_ranks);

/// The host's share from the bytes available (-1: not known) and the text of a cgroup's memory.max
/// ("" where there is none).
MemoryLimit host_limit_from(int64_t available, const std::string& cgroup_max, int node_ranks);

/// "1.25 GiB"
std::string bytes_text(double bytes);

}  // namespace zero::train
