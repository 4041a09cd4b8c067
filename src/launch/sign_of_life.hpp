#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "zero/launch/peers.hpp"

namespace zero::launch {

/// Work, mostly of a disk, which may take one rank far longer than the others.
struct DiskWork {
  const char* name = "a checkpoint";  ///< what a warning calls it
  const char* slow = "its disk is slow";
  int64_t bytes = 0;  ///< that this rank moves, at most
  /// Rises while it moves them; none where nobody counts.
  std::function<int64_t()> moved = {};
  /// Becomes true where the work of another rank has failed, within half a second: then this one's
  /// is in vain. None where nobody asks.
  std::atomic<bool>* is_in_vain = nullptr;
};

/// While ranks do such work each without the others, a thread of each tells them again and again
/// that it is alive: so a watchdog can tell a disk that is slow, which is waited for and reported,
/// from a rank that hangs. Where nothing has moved for ten times the watchdog's patience, or the
/// time of the bytes at 5 MB/s where that is longer, it says no more: then the others' watchdogs
/// see to it, or the own one of a rank that is alone and knows its bytes.
class SignOfLife {
 public:
  /// Nothing else may communicate over these peers until finish(). Collective.
  SignOfLife(const Peers& peers, const DiskWork& work);
  /// As finish(), without what failed.
  ~SignOfLife();
  SignOfLife(const SignOfLife&) = delete;
  SignOfLife& operator=(const SignOfLife&) = delete;

  /// The work has failed here. To be followed by finish().
  void fail();
  /// The work has ended here. Returns when it has on every rank. Throws as Peers.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void answer();
  int64_t wait_a_little();
  int64_t word() const;
  double quiet_seconds();
  void wait_for_movement(std::unique_lock<std::mutex>& lock, double most);
  void end();

  const Peers& peers_;
  const DiskWork work_;
  Clock::time_point since_ = Clock::now();  ///< it began, or moved for the last time
  int64_t seen_ = 0;
  bool warned_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false, failed_ = false;
  bool is_told_ = false;  ///< that some rank's work has failed; by all ranks in the same round
  std::exception_ptr problem_;
  std::thread thread_;
};

}  // namespace zero::launch
