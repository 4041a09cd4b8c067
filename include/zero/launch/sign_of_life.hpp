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

/// Work, mostly of a disk, that may take one rank far longer than the others.
struct DiskWork {
  const char* name = "a checkpoint";  ///< name of the work in a warning
  const char* slow = "its disk is slow";
  int64_t bytes = 0;  ///< maximum bytes that this rank moves
  /// Returns a number that rises while bytes move. May be empty.
  std::function<int64_t()> moved = {};
  /// Set to true within half a second after another rank's work has failed, because this rank's
  /// work is then in vain. May be null.
  std::atomic<bool>* is_in_vain = nullptr;
};

/// A thread that tells the other ranks that this rank is alive, while each rank works without the
/// others. A watchdog can thus tell a slow disk, which it reports, from a rank that hangs. The
/// thread falls silent if nothing moves for ten times the watchdog's patience, or longer if its
/// bytes at 5 MB/s take longer. Then the watchdogs of the others act, or the rank's own if it is
/// alone and knows its bytes.
class SignOfLife {
 public:
  /// Starts to give signs of life of this rank over `peers` while it does `work`. REQUIRES: nothing
  /// else communicates over `peers` until finish(). Collective.
  SignOfLife(const Peers& peers, const DiskWork& work);
  /// Ends as finish(), but throws nothing.
  ~SignOfLife();
  SignOfLife(const SignOfLife&) = delete;
  SignOfLife& operator=(const SignOfLife&) = delete;

  /// Reports that the work has failed on this rank. REQUIRES: finish() follows.
  void fail();
  /// Reports that the work has ended on this rank. Blocks until it has ended on every rank. Throws
  /// as Peers.
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
  Clock::time_point since_ = Clock::now();  ///< start, or the last movement
  int64_t seen_ = 0;
  bool warned_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false, failed_ = false;
  bool is_told_ = false;  ///< all ranks know, in one round, that some rank's work has failed
  std::exception_ptr problem_;
  std::thread thread_;
};

}  // namespace zero::launch
