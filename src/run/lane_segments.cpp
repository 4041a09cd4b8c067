#include "src/run/lane_segments.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::run {
namespace {

using Lanes = std::array<LaneSegments, plan::kLanes>;

void cut(const plan::Plan& plan, size_t lane, size_t id, int32_t most, Lanes& lanes) {
  const std::vector<Segment> cuts = segments_of(plan, plan::BodyId(id), plan::Lane(lane), most);
  const plan::Body& body = plan.bodies[id];
  LaneBody made{.segments = std::vector<LaneSegment>(cuts.size()),
                .rounds = plan::Rounds(body),
                .times = body.loop.is_there() ? body.loop.rounds : 1};
  const auto segments_before = [&](int32_t op) {
    return int32_t(std::ranges::lower_bound(cuts, op, {}, &Segment::op) - cuts.begin());
  };
  made.loop_begin = segments_before(body.loop.begin);
  made.loop_end = segments_before(body.loop.end);
  for (int32_t op = body.loop.begin; op < body.loop.end; ++op) {
    made.loop_turns += plan::is_collective(body.ops[size_t(op)].kind);
  }
  for (size_t i = 0; i < cuts.size(); ++i) {
    made.segments[i].cut = cuts[i];
    if (cuts[i].awaited) made.segments[i].done = std::make_unique<Event>();
  }
  lanes[lane][id] = std::move(made);
}

/// The end of the segment whose last op is the one that is waited for.
const Event* end_of(const std::vector<LaneSegment>& segments, const plan::Wait& wait) {
  const auto found = std::ranges::lower_bound(
      segments, wait.count, {}, [](const LaneSegment& segment) { return segment.cut.end(); });
  ZERO_REQUIRE(found != segments.end() && found->cut.end() == wait.count && found->done,
               "no segment ends at op ", wait.count, " of lane ", plan::name_of(wait.lane));
  return found->done.get();
}

/// What a round waits for of the one before is in front of the loop in the first one.
void hold(const Lanes& lanes, size_t body, LaneSegment& segment) {
  for (const plan::Wait& wait : segment.cut.waits) {
    const LaneBody& other = lanes[size_t(wait.lane)][body];
    segment.holds.push_back(end_of(other.segments, wait));
    const bool loops = other.rounds.is_in_loop(segment.cut.op);
    if (!loops) continue;
    plan::Wait again = wait;
    const int32_t before = other.rounds.before(wait.lane), inside = other.rounds.inside(wait.lane);
    const bool reaches_back = inside > 0 && wait.count <= before;
    ZERO_REQUIRE(!reaches_back || wait.count + inside > before, "op ", segment.cut.op,
                 " of a loop waits for op ", wait.count, " of lane ", plan::name_of(wait.lane),
                 ", which is more than a round ago");
    if (reaches_back) again.count += inside;
    segment.holds_again.push_back(end_of(other.segments, again));
  }
}

}  // namespace

LaneBody::Pass LaneBody::pass(int64_t n) const {
  int64_t segment = n, round = 0, before = 0;
  if (n >= loop_end) {
    const int64_t further = n - loop_begin, length = loop_length();
    const bool behind = length == 0 || further >= length * times;
    before = round = behind ? times - 1 : further / length;
    segment = n - round * length;
    if (behind) round = 0;
  }
  return {.segment = int32_t(segment),
          .turn = {.op = segments[size_t(segment)].cut.op, .round = round},
          .rounds_before = before};
}

Lanes make_segments(const plan::Plan& plan, int32_t most) {
  Lanes lanes;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    for (size_t body = 0; body < plan::kBodies; ++body) cut(plan, lane, body, most, lanes);
  }
  for (LaneSegments& bodies : lanes) {
    for (size_t body = 0; body < bodies.size(); ++body) {
      for (LaneSegment& segment : bodies[body].segments) hold(lanes, body, segment);
    }
  }
  return lanes;
}

}  // namespace zero::run
