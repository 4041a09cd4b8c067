#pragma once

#include <cstdint>

namespace zero::run {

/// Asks that the calling thread run soon after it wakes, for one that sleeps most of its time and
/// holds up others while it is late. Linux (from 6.12 on) gives a thread with a short slice a core
/// before one with a longer slice has used its own; shares of a core stay as they were, and no
/// privilege is needed. Elsewhere nothing changes.
void wake_promptly();

/// The calling thread's slice, ns; 0 before Linux 6.12.
uint64_t slice_of_thread();

}  // namespace zero::run
