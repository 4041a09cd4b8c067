#include "src/run/lane_segments.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/graph/operation.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using Lanes = std::array<LaneSegments, plan::kLanes>;

bool runs_on_host(const plan::PlanOp& op) {
  return op.lane == plan::Lane::host_optimizer || plan::is_disk_transfer(op.kind);
}

/// True if a device runs the op and it may join others. A collective is queued by itself: through
/// host memory it is no device work, and every rank must launch NCCL's in one order.
bool is_device_work(const plan::PlanOp& op) {
  return !runs_on_host(op) && !plan::is_collective(op.kind);
}

/// True if a lane copies unpinned memory. Such copies use memory of the driver, which a recording
/// cannot hold.
bool copies_unpinned(const plan::Plan& plan, plan::Lane lane) {
  const bool copies = lane == plan::Lane::h2d || lane == plan::Lane::d2h;
  return copies && !plan.request.pinned_host;
}

/// True if a loop's op differs between rounds: in its batch or sum, or in the elements that it
/// drops.
bool varies(const plan::Plan& plan, const plan::Body& body, const plan::PlanOp& op) {
  const bool moves = std::ranges::any_of(
      op.operands, [](const plan::Operand& operand) { return operand.stride != 0; });
  if (moves || op.counts || op.kind != plan::Kind::compute) return moves || op.counts;
  const graph::Graph& graph = plan.graphs[size_t(body.graph)];
  const graph::Op& of = graph.ops[size_t(op.graph_op)];
  return of.kind->draws(graph, of) > 0;
}

/// Returns a flag per op of the lane, true if another lane waits for the op. An op that a round
/// awaits from the round before lies in front of the loop in the first round.
std::vector<bool> awaited_ops(const plan::Body& body, plan::Lane lane, size_t ops) {
  std::vector<bool> awaited(ops);
  const plan::Rounds rounds(body);
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    for (const plan::Wait& wait : body.ops[size_t(i)].waits) {
      if (wait.lane != lane) continue;
      ZERO_REQUIRE(wait.count >= 1 && size_t(wait.count) <= ops, "body ", body.name,
                   " waits for op ", wait.count, " of lane ", plan::name_of(lane), ", which has ",
                   ops);
      awaited[size_t(wait.count) - 1] = true;
      const int32_t again = wait.count + rounds.inside(lane);
      const bool reaches_back = rounds.is_in_loop(i) && wait.count <= rounds.before(lane);
      if (reaches_back && again > rounds.before(lane)) awaited[size_t(again) - 1] = true;
    }
  }
  return awaited;
}

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

/// Returns the end of the segment whose last op is awaited.
const Event* end_of(const std::vector<LaneSegment>& segments, const plan::Wait& wait) {
  const auto found = std::ranges::lower_bound(
      segments, wait.count, {}, [](const LaneSegment& segment) { return segment.cut.end(); });
  ZERO_REQUIRE(found != segments.end() && found->cut.end() == wait.count && found->done,
               "no segment ends at op ", wait.count, " of lane ", plan::name_of(wait.lane));
  return found->done.get();
}

/// Sets the events of a segment. An op that a round awaits from the round before lies in front of
/// the loop in the first round.
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

std::vector<Segment> segments_of(const plan::Plan& plan, plan::BodyId body, plan::Lane lane,
                                 int32_t most) {
  std::vector<const plan::PlanOp*> ops;
  std::vector<int32_t> collectives_before;
  int32_t collectives = 0;
  const plan::Body& of = plan.bodies[body];
  for (const plan::PlanOp& op : of.ops) {
    if (op.lane == lane) {
      ops.push_back(&op);
      collectives_before.push_back(collectives);
    }
    if (plan::is_collective(op.kind)) ++collectives;
  }
  const std::vector<bool> awaited = awaited_ops(of, lane, ops.size());
  const auto place_of = [&](const plan::PlanOp& op) { return int32_t(&op - of.ops.data()); };
  const auto loops = [&](const plan::PlanOp& op) {
    return of.loop.begin <= place_of(op) && place_of(op) < of.loop.end;
  };
  const auto same_each_round = [&](const plan::PlanOp& last, const plan::PlanOp& op) {
    if (loops(last) != loops(op)) return false;
    return !loops(op) || (!varies(plan, of, last) && !varies(plan, of, op));
  };
  const auto joins = [&](const Segment& before, size_t place) {
    const plan::PlanOp &last = *ops[place - 1], &op = *ops[place];
    return before.count < most && op.waits.empty() && !before.awaited && is_device_work(last) &&
           is_device_work(op) && same_each_round(last, op) &&
           phase_of(plan, body, last) == phase_of(plan, body, op);
  };
  std::vector<Segment> segments;
  for (size_t place = 0; place < ops.size(); ++place) {
    if (segments.empty() || !joins(segments.back(), place)) {
      segments.push_back(
          {.op = place_of(*ops[place]), .first = int32_t(place), .waits = ops[place]->waits});
    }
    Segment& segment = segments.back();
    ++segment.count;
    segment.awaited = awaited[place];
    segment.on_host = runs_on_host(*ops[place]);
    // A recording holds one form, and data decides the next form.
    const bool has_forms = plan.forms(of.graph) > 1;
    segment.recordable = segment.count > 1 && !has_forms && !copies_unpinned(plan, lane);
    if (plan::is_collective(ops[place]->kind)) segment.turn = collectives_before[place];
  }
  return segments;
}

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
