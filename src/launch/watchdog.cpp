#include "zero/launch/watchdog.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>

namespace zero::launch {
namespace {

using Seconds = std::chrono::duration<double>;

/// How many pauses one is taken for at most. What took longer was this process's own stop, by a
/// user or a scheduler who suspends the job, in which nothing could have moved.
constexpr double kLongestPauses = 3;

}  // namespace

Watchdog::Watchdog(Options options)
    : options_(std::move(options)),
      timeout_seconds_(options_.timeout_seconds),
      thread_([this] { watch(); }) {
  // For who looks at a process's threads; without the name nothing is lost.
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  closing_changed_.notify_all();
  thread_.join();
}

void Watchdog::arm(const char* place) {
  place_ = place;
  ++armings_;
  armed_ = true;
}

Watchdog::Armed::Armed(Watchdog* watchdog, const char* place) : watchdog_(watchdog) {
  if (watchdog_) watchdog_->arm(place);
}

Watchdog::Armed::~Armed() {
  if (watchdog_) watchdog_->disarm();
}

std::string Watchdog::place() const {
  const char* named = place_;
  return named ? named : options_.running();
}

void Watchdog::watch() {
  using Clock = std::chrono::steady_clock;
  const double pause = std::min(0.1, options_.timeout_seconds / 8);
  int64_t seen = -1;
  double quiet = 0;
  Clock::time_point before = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_changed_.wait_for(lock, Seconds(pause), [this] { return closing_; })) {
    const Clock::time_point now = Clock::now();
    const double passed = Seconds(now - before).count();
    before = now;
    quiet += std::min(passed, kLongestPauses * pause);
    // Both only rise, so their sum changes with either.
    const int64_t moved = options_.finished() + armings_;
    const bool excused = options_.excused && options_.excused();
    if (!armed_ || excused || moved != seen) quiet = 0;
    seen = moved;
    if (quiet < timeout_seconds_) continue;
    options_.on_hang(place());
    return;
  }
}

}  // namespace zero::launch
