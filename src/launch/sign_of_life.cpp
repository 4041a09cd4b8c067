#include "zero/launch/sign_of_life.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "zero/base/error.hpp"
#include "zero/launch/peers.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {
namespace {

constexpr std::chrono::milliseconds kPause(250);
/// Reports of a rank on its work. The smallest report of all ranks counts.
constexpr int64_t kFailed = -1, kWorks = 0, kEnded = 1;
constexpr double kTimesPatience = 10, kSlowestBytesPerSecond = 5e6;

}  // namespace

SignOfLife::SignOfLife(const Peers& peers, const DiskWork& work) : peers_(peers), work_(work) {
  if (peers_.patience_seconds() <= 0 || (peers_.ranks() == 1 && work_.bytes == 0)) return;
  if (work_.moved) seen_ = work_.moved();
  thread_ = std::thread([this] { answer(); });
}

SignOfLife::~SignOfLife() { end(); }

void SignOfLife::fail() {
  const std::lock_guard<std::mutex> lock(mutex_);
  failed_ = true;
}

void SignOfLife::finish() {
  end();
  if (problem_) std::rethrow_exception(problem_);
}

void SignOfLife::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SignOfLife::answer() try {
  for (int64_t heard = kWorks; heard != kEnded;) {
    heard = peers_.smallest(wait_a_little());
    if (heard != kFailed) continue;
    is_told_ = true;
    if (work_.is_in_vain) *work_.is_in_vain = true;
  }
} catch (...) {
  problem_ = std::current_exception();
}

/// Returns this rank's report. It reports a failure once, and that it has ended afterwards.
int64_t SignOfLife::word() const {
  if (!ended_) return kWorks;
  return failed_ && !is_told_ ? kFailed : kEnded;
}

int64_t SignOfLife::wait_a_little() {
  const double patience = peers_.patience_seconds();
  const double most =
      std::max(kTimesPatience * patience, double(work_.bytes) / kSlowestBytesPerSecond);
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ended = [this] { return ended_; };
  changed_.wait_for(lock, kPause, ended);
  const double seconds = quiet_seconds();
  if (!ended_ && !warned_ && seconds > patience) {
    warned_ = true;
    warn("rank ", peers_.rank(), " has been at ", work_.name, " for ", std::round(seconds),
         " s: ", work_.slow);
  }
  if (seconds > most) wait_for_movement(lock, most);
  return word();
}

double SignOfLife::quiet_seconds() {
  const int64_t moved = work_.moved ? work_.moved() : 0;
  if (std::exchange(seen_, moved) != moved) since_ = Clock::now();
  return std::chrono::duration<double>(Clock::now() - since_).count();
}

void SignOfLife::wait_for_movement(std::unique_lock<std::mutex>& lock, double most) {
  // A single rank has no peers that could report it, so it relies on its own watchdog.
  const Watchdog::Armed armed(peers_.ranks() == 1 ? peers_.watchdog() : nullptr, work_.name);
  while (!ended_ && quiet_seconds() > most) changed_.wait_for(lock, kPause);
}

}  // namespace zero::launch
