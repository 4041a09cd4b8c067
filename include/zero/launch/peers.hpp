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

/// A channel on which ranks talk outside of the plan: at set-up, about stopping, and for reports.
/// Verbs other than send and receive are collective and block until every rank has come. REQUIRES:
/// MPI runs during its life; one thread at a time uses it.
class Peers {
 public:
  Peers();
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Arms `watchdog` from now on while a verb waits for other ranks; nullptr arms none. REQUIRES:
  /// the watchdog outlives its use.
  void watch_with(Watchdog* watchdog);
  Watchdog* watchdog() const;
  /// Returns the timeout of the watchdog, 0 without one.
  double patience_seconds() const;

  /// Lets verbs sleep while they wait, up to a quarter of a millisecond at a time, so they take no
  /// core from working ranks. Returns the earlier setting.
  bool wait_asleep(bool asleep = true);

  int rank() const;
  int ranks() const;

  /// The state of a channel that other threads may read. It may outlive the channel.
  struct Activity {
    std::atomic<int64_t> ended{0};            ///< ended verbs
    std::atomic<const char*> place{nullptr};  ///< verb that waits for other ranks, else null
  };
  std::shared_ptr<const Activity> activity() const;

  int64_t largest(int64_t value) const;
  int64_t smallest(int64_t value) const;
  double sum(double value) const;
  /// Writes the smallest of each value over ranks, in place. REQUIRES: all ranks have equally many
  /// values, at most 2^31 - 1.
  void smallest(std::span<int32_t> values) const;

  /// Returns the text of every rank, by rank, on rank 0. Empty elsewhere.
  std::vector<std::string> gather(const std::string& text) const;
  /// Returns the text of every rank, by rank, on every rank.
  std::vector<std::string> share(const std::string& text) const;

  /// Sends values to a rank. Blocks until the receiver takes them.
  void send(std::span<const float> values, int to) const;
  void receive(std::span<float> values, int from) const;

  /// Casts a vote when a step begins. count_vote() ends the vote when the step ends and returns the
  /// largest value of any rank, at no cost to the step.
  void cast_vote(int32_t value);
  int32_t count_vote();

 private:
  struct Channel;
  std::unique_ptr<Channel> channel_;
};

/// A scope in which verbs of `peers` wait asleep.
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
  /// REQUIRES: nothing else communicates over `peers` until finish(). Collective.
  SignOfLife(const Peers& peers, const DiskWork& work);
  /// Ends as finish(), but throws nothing.
  ~SignOfLife();
  SignOfLife(const SignOfLife&) = delete;
  SignOfLife& operator=(const SignOfLife&) = delete;

  /// Reports that the work has failed here. REQUIRES: finish() follows.
  void fail();
  /// Reports that the work has ended here. Blocks until it has ended on every rank. Throws as
  /// Peers.
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
