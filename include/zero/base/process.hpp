#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace zero {

/// What the system lets this process have of a resource (RLIMIT_AS, RLIMIT_DATA, ...), in its unit;
/// -1: no limit.
int64_t process_limit(int resource);

/// Returns the least memory limit, in bytes, of the control group `group` ("/a/b", or "/") and of
/// those around it. -1 if none has one. `root` is the folder of all groups.
/// Source: Linux, cgroup v2, memory.max.
int64_t group_memory_limit(const std::string& root, std::string group);
/// Returns that limit of this process's group. In a container the root is what the container sees.
int64_t group_memory_limit();

/// True if the system would give this process so many more bytes now. Takes nothing. Libraries that
/// crash where they are refused memory are asked for work only while it is.
bool would_get(int64_t bytes);
/// True if the system would give it so many more addresses, without memory behind them.
bool would_map(int64_t bytes);

/// Calls work(0) to work(threads - 1) at one time, the first of them on the calling thread, and
/// returns when all have ended. Throws what the first to do so has thrown.
void in_team(int threads, const std::function<void(int member)>& work);

}  // namespace zero
