#pragma once

#include <chrono>

namespace zero::launch {

/// When the kernel started this process, to a hundredth of a second; starting the program again in
/// the same process does not change it. Where the kernel does not say: now.
/// Source: Linux /proc/self/stat, field 22 (starttime).
std::chrono::steady_clock::time_point process_start();

}  // namespace zero::launch
