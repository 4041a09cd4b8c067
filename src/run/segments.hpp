#pragma once
/// How the ops of a lane are cut into stretches that are queued as one: plain code over a plan;
/// then with the marks in their streams' queues that hold the lanes together. Private to this room.

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "zero/device/stream.hpp"
#include "zero/plan/plan.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::run {

// How the work of a segment is queued again and again: op by op, or as a recording of a GPU. The
// executor and its lanes know no more of recordings than this file says.

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

/// Ops of one lane, one after the other. Only the first of them waits for other lanes, and other
/// lanes wait only for the last: so whoever queues a segment waits before it and tells after it.
struct Segment {
  int32_t op = 0;                      ///< place of its first one in the body
  int32_t first = 0, count = 0;        ///< by place in the lane
  std::vector<plan::Wait> waits = {};  ///< of its first op
  bool awaited = false;                ///< whether another lane waits for its last op
  bool on_host =
      false;  ///< one op of the host's threads or of a disk: what is queued is done first
  /// Kernels and copies of pinned memory alone, several of them, the same in each round.
  bool recordable = false;
  int32_t turn = -1;  ///< of a collective: how many of the body's collectives come before it

  int32_t end() const { return first + count; }
};

/// The ops of a lane in a body, all of them in order, in segments of at most `most` ops, of one
/// phase each and in a loop or outside of it. With most = 1 every op is a segment of its own.
std::vector<Segment> segments_of(const plan::Plan& plan, plan::BodyId body, plan::Lane lane,
                                 int32_t most);

struct LaneSegment {
  Segment cut = {};
  std::unique_ptr<Event> done = {};            ///< its end, where another lane waits for it
  std::vector<const Event*> holds = {};        ///< what it waits for
  std::vector<const Event*> holds_again = {};  ///< the same in further rounds of a loop
  Moment begin = {}, end = {};                 ///< of its work on the device
  RepeatedWork work = {};
};

/// A lane's segments of a body, and how often they run.
struct LaneBody {
  std::vector<LaneSegment> segments = {};
  plan::Rounds rounds = {};              ///< of the body
  int64_t times = 1;                     ///< the rounds of its loop
  int32_t loop_begin = 0, loop_end = 0;  ///< segments
  int32_t loop_turns = 0;                ///< collectives of a round, of all lanes

  int32_t loop_length() const { return loop_end - loop_begin; }
  int64_t passes() const { return int64_t(segments.size()) + (times - 1) * loop_length(); }
  /// A segment as it runs, and how many rounds were before it.
  struct Pass {
    int32_t segment;
    plan::Turn turn;
    int64_t rounds_before;
  };
  Pass pass(int64_t n) const;
  /// Finished ops of its lane when it has.
  int64_t end_of(const Pass& pass, plan::Lane lane) const {
    return segments[size_t(pass.segment)].cut.end() + pass.rounds_before * rounds.inside(lane);
  }
};

/// [bodies]
using LaneSegments = std::array<LaneBody, plan::kBodies>;

/// All lanes of a plan, cut at `most` ops.
std::array<LaneSegments, plan::kLanes> make_segments(const plan::Plan& plan, int32_t most);

}  // namespace zero::run
