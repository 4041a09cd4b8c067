#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "zero/launch/watchdog.hpp"

namespace zero::launch {

/// What ranks tell each other outside of the plan: at set-up, about stopping, and for reports. Over
/// a channel of its own, from one thread at a time. MPI must be running as long as it lives.
///
/// All verbs but send and receive are collective and block until every rank has come.
class Peers {
 public:
  Peers();
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// From now on a watchdog, which outlives its use, is armed while a verb waits for other ranks;
  /// none with nullptr.
  void watch_with(Watchdog* watchdog);
  Watchdog* watchdog() const;
  /// After which it gives up; 0 without one.
  double patience_seconds() const;

  /// From now on a verb sleeps until the other ranks have come, up to a quarter of a millisecond at
  /// a time, instead of taking a core from those that work; or no longer. Returns what it did
  /// before.
  bool wait_asleep(bool asleep = true);

  int rank() const;
  int ranks() const;

  /// What other threads see of it, which may outlive it.
  struct Activity {
    std::atomic<int64_t> ended{0};            ///< verbs
    std::atomic<const char*> place{nullptr};  ///< where one waits for other ranks; else null
  };
  std::shared_ptr<const Activity> activity() const;

  int64_t largest(int64_t value) const;
  int64_t smallest(int64_t value) const;
  double sum(double value) const;
  /// The smallest of each value, in place; all ranks have as many, at most 2^31 - 1.
  void smallest(std::span<int32_t> values) const;

  /// The text of every rank, by rank, on rank 0; empty elsewhere.
  std::vector<std::string> gather(const std::string& text) const;
  /// The same, on every rank.
  std::vector<std::string> share(const std::string& text) const;

  /// Blocks until the receiver takes the values.
  void send(std::span<const float> values, int to) const;
  void receive(std::span<float> values, int from) const;

  /// A vote that costs a step nothing: cast when the step begins, counted when it ends. The largest
  /// value that any rank has cast.
  void cast_vote(int32_t value);
  int32_t count_vote();

 private:
  struct Channel;
  std::unique_ptr<Channel> channel_;
};

/// As long as it lives verbs of `peers` wait asleep.
class Asleep {
 public:
  explicit Asleep(Peers& peers) : peers_(peers), before_(peers.wait_asleep()) {}
  ~Asleep() { peers_.wait_asleep(before_); }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  Peers& peers_;
  bool before_;
};

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
/// that it is alive. So a watchdog can tell a disk that is slow, which is waited for and reported,
/// from a rank that hangs. Where nothing has moved for ten times the watchdog's patience, or the
/// time of the bytes at 5 MB/s where that is longer, it says no more. Then the others' watchdogs
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
