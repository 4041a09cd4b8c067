#pragma once

#include <cstdint>

namespace zero::run {

/// Asks the scheduler to run the calling thread soon after it wakes, because it mostly sleeps and
/// delays others when late. Linux 6.12 and later gives a thread with a short slice a core before
/// one with a longer slice ends its own. Shares of a core do not change, and no privilege is
/// needed. Elsewhere nothing happens.
void wake_promptly();

/// Returns the calling thread's slice, ns. 0 before Linux 6.12.
uint64_t slice_of_thread();

}  // namespace zero::run
