#pragma once
/// How the work of a segment is queued again and again: op by op, or as a recording of a GPU. The
/// executor and its lanes know no more of recordings than this file says. Private to this room.

#include <cstdint>
#include <thread>

#include "zero/device/stream.hpp"

namespace zero::run {

/// Where segments are recorded, their most ops: some two layers, so that a watchdog hears of
/// progress and the device begins while the rest is being queued.
inline constexpr int32_t kRecordedOps = 64;

/// The most ops of a segment in this build. Where nothing is recorded every op is queued by itself.
inline int32_t most_ops() { return Recording::is_possible() ? kRecordedOps : 1; }

/// The work of one segment, which always goes to the same stream.
class RepeatedWork {
 public:
  /// Whether queue_again() will do, which calls no op.
  bool is_recorded() const { return recording_.is_made(); }
  void queue_again(Stream& stream) const { recording_.queue(stream); }

  /// Queues what `ops()` queues. The first time op by op, since libraries then still choose and
  /// take memory. The same thread records it the second time if it is `recordable`: what a library
  /// prepares is a thread's own.
  template <class Ops>
  void queue(Stream& stream, bool recordable, const Ops& ops) {
    if (recordable && Recording::is_possible() && ran_on_ == std::this_thread::get_id()) {
      recording_.make(stream, ops);
      return recording_.queue(stream);
    }
    ops();
    ran_on_ = std::this_thread::get_id();
  }

 private:
  Recording recording_;
  std::thread::id ran_on_ = {};  ///< the thread that queued it op by op; none: nobody has
};

}  // namespace zero::run
