#include "zero/train/watchdog.hpp"

#include <algorithm>
#include <chrono>

namespace zero::train {

Watchdog::Watchdog(Options options) : options_(std::move(options)), thread_([this] { watch(); }) {}

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
  using Seconds = std::chrono::duration<double>;
  const Seconds pause(std::min(0.1, options_.timeout_seconds / 8));
  int64_t seen = -1;
  Clock::time_point changed = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_changed_.wait_for(lock, pause, [this] { return closing_; })) {
    // Both only rise, so their sum changes with either.
    const int64_t moved = options_.finished() + armings_;
    if (!armed_ || moved != seen) changed = Clock::now();
    seen = moved;
    if (Seconds(Clock::now() - changed).count() < options_.timeout_seconds) continue;
    options_.on_hang(place());
    return;
  }
}

}  // namespace zero::train
