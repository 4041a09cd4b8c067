#include "src/run/segments.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/graph/operation.hpp"
#include "zero/plan/rounds.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

bool runs_on_host(const plan::PlanOp& op) {
  return op.lane == plan::Lane::host_optimizer || plan::is_disk_transfer(op.kind);
}

/// A collective is queued by itself: through host memory it is no device work at all, and NCCL's
/// has one launch that every rank must make in one order, recorded or not.
bool is_device_work(const plan::PlanOp& op) {
  return !runs_on_host(op) && !plan::is_collective(op.kind);
}

/// What is not pinned is copied by way of the driver's own memory, which a recording cannot hold.
bool copies_unpinned(const plan::Plan& plan, plan::Lane lane) {
  const bool copies = lane == plan::Lane::h2d || lane == plan::Lane::d2h;
  return copies && !plan.request.pinned_host;
}

/// Whether an op of a loop is another one in each round: its batch or its sum lies elsewhere, or it
/// drops other elements.
bool varies(const plan::Plan& plan, const plan::Body& body, const plan::PlanOp& op) {
  const bool moves = std::ranges::any_of(
      op.operands, [](const plan::Operand& operand) { return operand.stride != 0; });
  if (moves || op.counts || op.kind != plan::Kind::compute) return moves || op.counts;
  const graph::Op& of = plan.graphs[size_t(body.graph)].ops[size_t(op.graph_op)];
  return of.kind->draws != nullptr && of.kind->draws(of);
}

/// [ops of the lane] whether another lane waits for the op. What a loop's round waits for of the
/// round before is in front of the loop in the first one.
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
    segment.recordable = segment.count > 1 && !copies_unpinned(plan, lane);
    if (plan::is_collective(ops[place]->kind)) segment.turn = collectives_before[place];
  }
  return segments;
}

}  // namespace zero::run
