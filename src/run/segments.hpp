#pragma once
/// How the ops of a lane are cut into stretches that are queued as one: plain code over a plan.
/// Private to this room.

#include <cstdint>
#include <vector>

#include "zero/plan/plan.hpp"

namespace zero::run {

/// Ops of one lane, one behind the other. Only the first of them waits for other lanes, and other
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

/// Where segments are recorded, their most ops: some two layers, so that a watchdog hears of
/// progress and the device begins while the rest is being queued.
inline constexpr int32_t kRecordedOps = 64;

/// The ops of a lane in a body, all of them in order, in segments of at most `most` ops, of one
/// phase each and in a loop or outside of it. With most = 1 every op is a segment of its own.
std::vector<Segment> segments_of(const plan::Plan& plan, plan::BodyId body, plan::Lane lane,
                                 int32_t most);

}  // namespace zero::run
