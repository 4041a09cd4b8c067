#pragma once

#include <atomic>
#include <cstdint>

#include "zero/comm/backends.hpp"

namespace zero::comm {

/// A number that one thread raises and others sleep on; works in memory shared between processes.
/// All zero bytes is a valid counter at 0. A cache line of its own, so that neighbours do not
/// fight.
struct alignas(128) Counter {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// Called about every 100 ms of waiting; throws to give up.
struct Waiting {
  WaitHook hook = nullptr;
  void* context = nullptr;
};

/// Sets the counter and wakes its waiters. A woken thread sees everything the caller wrote before.
void raise(Counter& counter, uint32_t value);

/// Adds one. Several threads may raise the counter together; the one that reaches `least` wakes the
/// waiters, who see everything all of them wrote.
void add_one(Counter& counter, uint32_t least);

/// Wakes the waiters without raising the counter, so that their hooks are called soon.
void wake(Counter& counter);

/// True if the counter is at `least` or beyond (modulo 2^32: the two are less than 2^31 apart);
/// then what was written before it was raised is seen.
bool has_reached(const Counter& counter, uint32_t least);

/// Returns when the counter has reached `least`.
void wait_for(Counter& counter, uint32_t least, const Waiting& waiting);

}  // namespace zero::comm
