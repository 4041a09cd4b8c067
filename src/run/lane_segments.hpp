#pragma once
/// Segments with the marks in their streams' queues that hold the lanes together. Private to this
/// room.

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "src/run/segments.hpp"
#include "zero/device/stream.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::run {

struct LaneSegment {
  Segment cut = {};
  std::unique_ptr<Event> done = {};            ///< its end, where another lane waits for it
  std::vector<const Event*> holds = {};        ///< what it waits for
  std::vector<const Event*> holds_again = {};  ///< the same in further rounds of a loop
  Moment begin = {}, end = {};                 ///< of its work on the device
  Recording recording = {};
  std::thread::id ran_on = {};  ///< the thread that queued it op by op; none: nobody has
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
