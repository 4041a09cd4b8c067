#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  /// texts[r] goes to rank r; returns what each rank has sent to this one. At most 2 GiB each way.
  std::vector<std::string> exchange(const std::vector<std::string>& texts) const;

  /// Ends when the receiver has come.
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

}  // namespace zero::launch
