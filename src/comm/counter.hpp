#pragma once

#include <atomic>
#include <cstdint>

#include "zero/comm/backends.hpp"

namespace zero::comm {

/// A number that one thread raises while others sleep on it. Works in memory shared between
/// processes. Zero bytes are a valid counter at 0. It has its own cache line, to avoid false
/// sharing.
struct alignas(128) Counter {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// The hook that waiting threads call about every 100 ms. It throws to give up.
struct Waiting {
  WaitHook hook = nullptr;
  void* context = nullptr;
};

/// Sets the counter and wakes its waiters. A woken thread sees all earlier writes of the caller.
void raise(Counter& counter, uint32_t value);

/// Adds one. Several threads may do so. The thread that reaches `least` wakes the waiters, which
/// see all earlier writes of these threads.
void add_one(Counter& counter, uint32_t least);

/// Wakes the waiters without raising the counter, so they call their hooks soon.
void wake(Counter& counter);

/// True if the counter is at `least` or beyond (modulo 2^32; the two differ by less than 2^31). The
/// caller then sees the writes from before the raise.
bool has_reached(const Counter& counter, uint32_t least);

/// Blocks until the counter has reached `least`.
void wait_for(Counter& counter, uint32_t least, const Waiting& waiting);

}  // namespace zero::comm
