#pragma once

#include <cstdint>
#include <string>

namespace zero {

/// Returns the name of this host.
std::string host_name();

/// Returns the system's limit of `resource` (RLIMIT_AS, RLIMIT_DATA, ...) for this process, in the
/// unit of the resource. -1 if there is no limit.
int64_t process_limit(int resource);

/// Returns the smallest memory limit, in bytes, of the control group `group` ("/a/b", or "/") and
/// its parents. -1 if none has one. `root` is the folder of all groups.
/// Source: Linux, cgroup v2, memory.max.
int64_t group_memory_limit(const std::string& root, std::string group);
/// Returns the smallest memory limit, in bytes, of this process's group and its parents. -1 if none
/// has one. In a container the root is the container's.
int64_t group_memory_limit();

/// True if the system would give this process `bytes` more memory now. Takes nothing. Callers check
/// it before they call libraries that crash when memory is refused.
bool would_get(int64_t bytes);
/// True if the system would give this process `bytes` more of addresses, without memory behind
/// them.
bool would_map(int64_t bytes);

}  // namespace zero
