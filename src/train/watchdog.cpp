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

void Watchdog::watch() {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const Seconds pause(std::min(0.25, options_.timeout_seconds / 8));
  int64_t seen = -1;
  Clock::time_point changed = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closing_changed_.wait_for(lock, pause, [this] { return closing_; })) {
    const int64_t finished = options_.finished();
    if (!armed_ || finished != seen) changed = Clock::now();
    seen = finished;
    if (Seconds(Clock::now() - changed).count() < options_.timeout_seconds) continue;
    options_.on_hang(options_.running());
    return;
  }
}

}  // namespace zero::train
