#include "src/comm/counter.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>

namespace zero::comm {
namespace {

using Clock = std::chrono::steady_clock;

// A sleep costs tens of microseconds, so a rank spins for a peer that is nearly there. A longer
// spin would keep a core from a lane that has work.
constexpr std::chrono::microseconds kPatience{3};
constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 100'000'000};

bool reached(uint32_t value, uint32_t least) { return int32_t(value - least) >= 0; }

bool spin(const Counter& counter, uint32_t least) {
  const auto end = Clock::now() + kPatience;
  while (!has_reached(counter, least)) {
    if (Clock::now() > end) return false;
  }
  return true;
}

// The caller looks again after any result: interrupted, woken, timed out or value changed.
void sleep_while(Counter& counter, uint32_t value) {
  syscall(SYS_futex, &counter.value, FUTEX_WAIT, value, &kNap, nullptr, 0);
}

// A scope that counts its thread as a sleeper, also if a hook throws.
class Asleep {
 public:
  explicit Asleep(Counter& counter) : counter_(counter) { counter_.sleepers.fetch_add(1); }
  ~Asleep() { counter_.sleepers.fetch_sub(1); }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  Counter& counter_;
};

}  // namespace

bool has_reached(const Counter& counter, uint32_t least) {
  return reached(counter.value.load(std::memory_order_acquire), least);
}

void raise(Counter& counter, uint32_t value) {
  // The four operations of raise() and of a sleeper are sequentially consistent. Either raise()
  // sees the sleeper, or the sleeper sees the new value before it sleeps.
  counter.value.store(value);
  if (counter.sleepers.load() != 0) wake(counter);
}

void add_one(Counter& counter, uint32_t least) {
  if (counter.value.fetch_add(1) + 1 != least) return;
  if (counter.sleepers.load() != 0) wake(counter);
}

void wake(Counter& counter) {
  syscall(SYS_futex, &counter.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for(Counter& counter, uint32_t least, const Waiting& waiting) {
  if (has_reached(counter, least) || spin(counter, least)) return;
  const Asleep asleep(counter);
  for (;;) {
    const uint32_t value = counter.value.load();
    if (reached(value, least)) return;
    sleep_while(counter, value);
    if (has_reached(counter, least)) return;
    if (waiting.hook != nullptr) waiting.hook(waiting.context);
  }
}

}  // namespace zero::comm
