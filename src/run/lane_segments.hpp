#pragma once
/// Segments with the marks in their streams' queues that hold the lanes together. Private to this
/// room.

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "src/run/segments.hpp"
#include "zero/device/event.hpp"
#include "zero/device/moment.hpp"
#include "zero/device/recording.hpp"

namespace zero::run {

struct LaneSegment {
  Segment cut = {};
  std::unique_ptr<Event> done = {};      ///< its end, where another lane waits for it
  std::vector<const Event*> holds = {};  ///< what it waits for
  Moment begin = {}, end = {};           ///< of its work on the device
  Recording recording = {};
  std::thread::id ran_on = {};  ///< the thread that queued it op by op; none: nobody has
};

/// [bodies]
using LaneSegments = std::array<std::vector<LaneSegment>, plan::kBodies>;

/// All lanes of a plan, cut at `most` ops.
std::array<LaneSegments, plan::kLanes> make_segments(const plan::Plan& plan, int32_t most);

}  // namespace zero::run
