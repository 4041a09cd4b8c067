#include "src/run/lane_segments.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::run {
namespace {

using Lanes = std::array<LaneSegments, plan::kLanes>;

void cut(const plan::Plan& plan, size_t lane, size_t body, int32_t most, Lanes& lanes) {
  const std::vector<Segment> cuts = segments_of(plan, plan::BodyId(body), plan::Lane(lane), most);
  std::vector<LaneSegment> segments(cuts.size());
  for (size_t i = 0; i < cuts.size(); ++i) {
    segments[i].cut = cuts[i];
    if (cuts[i].awaited) segments[i].done = std::make_unique<Event>();
  }
  lanes[lane][body] = std::move(segments);
}

/// The end of the segment whose last op is the one that is waited for.
const Event* end_of(const std::vector<LaneSegment>& segments, const plan::Wait& wait) {
  const auto found = std::ranges::lower_bound(
      segments, wait.count, {}, [](const LaneSegment& segment) { return segment.cut.end(); });
  ZERO_REQUIRE(found != segments.end() && found->cut.end() == wait.count && found->done,
               "no segment ends at op ", wait.count, " of lane ", plan::name_of(wait.lane));
  return found->done.get();
}

}  // namespace

Lanes make_segments(const plan::Plan& plan, int32_t most) {
  Lanes lanes;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    for (size_t body = 0; body < plan::kBodies; ++body) cut(plan, lane, body, most, lanes);
  }
  for (LaneSegments& bodies : lanes) {
    for (size_t body = 0; body < bodies.size(); ++body) {
      for (LaneSegment& segment : bodies[body]) {
        for (const plan::Wait& wait : segment.cut.waits)
          segment.holds.push_back(end_of(lanes[size_t(wait.lane)][body], wait));
      }
    }
  }
  return lanes;
}

}  // namespace zero::run
