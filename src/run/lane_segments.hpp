#pragma once
/// Cuts a lane's ops into segments that are queued as one. First plain code over a plan, then the
/// marks in streams' queues that order the lanes. Private to this room.

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "zero/device/stream.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::run {

// A segment is queued op by op or as a recording of a GPU. Only this file knows recordings.

/// Maximum ops of a recorded segment, about two layers. A watchdog then hears of progress, and the
/// device begins while the rest is being queued.
inline constexpr int32_t kRecordedOps = 64;

/// Returns the maximum ops of a segment in this build. 1 if nothing is recorded.
inline int32_t most_ops() { return Recording::is_possible() ? kRecordedOps : 1; }

/// The work of one segment, which always goes to one stream.
class RepeatedWork {
 public:
  /// True if queue_again(), which calls no op, may be used.
  bool is_recorded() const { return recording_.is_made(); }
  void queue_again(Stream& stream) const { recording_.queue(stream); }

  /// Queues the work of `ops()`. Runs op by op the first time, because libraries then choose and
  /// take memory. Records the second time if `recordable` and on the same thread, because libraries
  /// prepare per thread.
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
  std::thread::id ran_on_ = {};  ///< thread that queued it op by op, if any
};

/// A run of ops of one lane. Only its first op waits for other lanes, and other lanes wait only for
/// its last. The lane thus waits before a segment and tells after it.
struct Segment {
  int32_t op = 0;                      ///< place of its first op in the body
  int32_t first = 0, count = 0;        ///< ops, by place in the lane
  std::vector<plan::Wait> waits = {};  ///< waits of its first op
  bool awaited = false;                ///< another lane waits for its last op
  bool on_host = false;  ///< a single op of host threads or a disk; queued work ends first
  /// True for several kernels and copies of pinned memory that are equal in each round.
  bool recordable = false;
  int32_t turn = -1;  ///< collective: number of the body's collectives before it

  int32_t end() const { return first + count; }
};

/// Returns a lane's ops of a body in order, in segments of at most `most` ops. A segment has one
/// phase and lies inside or outside of a loop. With most = 1 every op is a segment.
std::vector<Segment> segments_of(const plan::Plan& plan, plan::BodyId body, plan::Lane lane,
                                 int32_t most);

struct LaneSegment {
  Segment cut = {};
  std::unique_ptr<Event> done = {};            ///< its end, if another lane waits for it
  std::vector<const Event*> holds = {};        ///< ends that it waits for
  std::vector<const Event*> holds_again = {};  ///< ends that it waits for in later rounds of a loop
  Moment begin = {}, end = {};                 ///< begin and end of its work on the device
  RepeatedWork work = {};
};

/// A lane's segments of a body, with their rounds.
struct LaneBody {
  std::vector<LaneSegment> segments = {};
  plan::Rounds rounds = {};              ///< rounds of the body
  int64_t times = 1;                     ///< rounds of its loop
  int32_t loop_begin = 0, loop_end = 0;  ///< indices of segments
  int32_t loop_turns = 0;                ///< collectives of a round, of all lanes

  int32_t loop_length() const { return loop_end - loop_begin; }
  int64_t passes() const { return int64_t(segments.size()) + (times - 1) * loop_length(); }
  /// A segment as it runs, and the number of rounds before it.
  struct Pass {
    int32_t segment;
    plan::Turn turn;
    int64_t rounds_before;
  };
  Pass pass(int64_t n) const;
  /// Returns the lane's finished ops after the pass.
  int64_t end_of(const Pass& pass, plan::Lane lane) const {
    return segments[size_t(pass.segment)].cut.end() + pass.rounds_before * rounds.inside(lane);
  }
};

/// The bodies of one lane, [bodies].
using LaneSegments = std::array<LaneBody, plan::kBodies>;

/// Returns all lanes of a plan, cut at `most` ops.
std::array<LaneSegments, plan::kLanes> make_segments(const plan::Plan& plan, int32_t most);

}  // namespace zero::run
