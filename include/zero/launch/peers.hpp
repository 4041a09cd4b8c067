#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace zero::launch {

class Watchdog;

/// The part of a rank in a vote: 16 bytes.
struct Ballot {
  int32_t word = 0;                     ///< the greatest of all ranks counts
  float compute_ms = 0, waited_ms = 0;  ///< of the step before; compute's waits for other lanes
  int32_t unused = 0;
};

/// A channel on which ranks talk outside of the plan: at set-up, about stopping, and for reports.
/// Verbs other than send and receive are collective and block until every rank has come. REQUIRES:
/// MPI runs during its life; one thread at a time uses it.
class Peers {
 public:
  /// Opens the channel of all ranks of the run. Collective.
  Peers();
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Arms `watchdog` from now on while a verb waits for other ranks; nullptr arms none. REQUIRES:
  /// the watchdog outlives its use.
  void watch_with(Watchdog* watchdog);
  /// Returns the watchdog of watch_with(), or null.
  Watchdog* watchdog() const;
  /// Returns the timeout of the watchdog in seconds, 0 without one.
  double patience_seconds() const;

  /// Lets verbs of this channel sleep while they wait, or spin if not `asleep`. They sleep up to a
  /// quarter of a millisecond at a time, so they take no core from working ranks. Returns the
  /// earlier setting.
  bool wait_asleep(bool asleep = true);

  int rank() const;
  int ranks() const;

  /// The state of a channel that other threads may read. It may outlive the channel.
  struct Activity {
    std::atomic<int64_t> ended{0};            ///< ended verbs
    std::atomic<const char*> place{nullptr};  ///< verb that waits for other ranks, else null
  };
  /// Returns the state of this channel.
  std::shared_ptr<const Activity> activity() const;

  /// Returns the largest of the ranks' values on every rank. smallest(): the smallest. sum(): their
  /// sum.
  int64_t largest(int64_t value) const;
  int64_t smallest(int64_t value) const;
  double sum(double value) const;
  /// Replaces each of `values` by the smallest at its place on any rank. REQUIRES: all ranks have
  /// equally many values, at most 2^31 - 1.
  void smallest(std::span<int32_t> values) const;
  /// Replaces each of `values` by the sum over ranks of those at its place, modulo 2^64. REQUIRES:
  /// as smallest().
  void add_up(std::span<uint64_t> values) const;

  /// Gathers each rank's own `text`. Returns all, by rank, on rank 0. Empty elsewhere.
  std::vector<std::string> gather(const std::string& text) const;
  /// Gathers each rank's own `text`. Returns all, by rank, on every rank.
  std::vector<std::string> share(const std::string& text) const;

  /// Sends values to rank `to`. Blocks until it takes them.
  void send(std::span<const float> values, int to) const;
  /// Fills `values` with those that rank `from` sends. Blocks until they have come.
  void receive(std::span<float> values, int from) const;

  /// Casts the vote of this rank when a step begins: an all-gather that goes on beside the step.
  /// count_vote() ends the vote when the step ends and returns the greatest word of any rank.
  void cast_vote(const Ballot& ballot);
  int32_t count_vote();
  /// Returns the ballots of the last counted vote, by rank. They live until the next cast_vote().
  std::span<const Ballot> ballots() const;

 private:
  struct Channel;
  std::unique_ptr<Channel> channel_;
};

/// A scope in which verbs of a channel wait asleep.
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
