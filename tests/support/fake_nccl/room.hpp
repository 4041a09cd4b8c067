#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nccl.h"
#include "src/comm/counter.hpp"

namespace zero::fake_nccl {

/// Thrown to leave a call, whose status and last words it becomes.
struct Stop {
  ncclResult_t status;
  std::string words;
  bool is_violation = false;  ///< the caller's mistake, not a fault on purpose
};

/// Throws that the caller has broken a rule.
[[noreturn]] inline void violate(const std::string& words) {
  throw Stop{ncclInvalidUsage, words, true};
}

/// What a rank says of a collective that it begins; all ranks must say the same.
struct Note {
  char verb[16];
  int64_t bytes;
  int32_t root;
  int64_t place;  ///< of the result in the window that it lies in; -1: in none
};

/// The memory of one communicator, which its ranks, processes of one machine, share: a nameless
/// file that rank 0 makes and the others open in /proc. Data go through an area of each rank.
class Room {
 public:
  static constexpr int kMostRanks = 128;
  static constexpr int64_t kAreaBytes = int64_t(96) << 20;

  /// A new one's name, for the others.
  static ncclUniqueId make();
  Room(const ncclUniqueId& id, int rank, int ranks);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// All ranks meet, each with `mine`; then `read` finds what others gave in area(rank). Returns
  /// when all have read. Throws Stop.
  void collective(const Note& note, std::span<const std::byte> mine,
                  const std::function<void()>& read);

  struct Letter {
    int peer;
    std::byte* place;
    int64_t bytes;
  };
  /// Sends and receives at the same time, one letter a peer each way. Throws Stop.
  void exchange(std::span<const Letter> sent, std::span<const Letter> received);

  std::byte* area(int rank) const;

  /// A peer has failed: all that wait here stop.
  void fail();
  bool has_failed() const;
  /// Collectives that a rank has begun.
  uint32_t begun(int rank) const;

  /// Asked ten times a second while a rank waits here for `peer` (-1: for any): the reason why
  /// that one can never come, "" where it may.
  std::function<std::string(int peer)> on_wait;
  /// The longest wait, after which the call stops.
  static double patience_seconds;

 private:
  struct Line;
  struct Mail;
  struct Head;
  Head& head() const { return *reinterpret_cast<Head*>(base_); }
  Line& line(int rank) const;
  Mail& mail(int from, int to) const;
  void meet(comm::Counter& counter, uint32_t times);
  void wait(comm::Counter& counter, uint32_t least, int peer);
  void compare(const Note& note) const;
  void write(int64_t offset, std::span<const std::byte> bytes);

  int rank_, ranks_;
  std::byte* base_ = nullptr;
  uint32_t meetings_ = 0;
  std::vector<uint32_t> sent_, received_;  ///< letters to and from each peer
};

}  // namespace zero::fake_nccl
