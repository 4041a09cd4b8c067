#include "src/run/segments.hpp"

#include "zero/base/error.hpp"
#include "zero/run/phases.hpp"

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

/// [ops of the lane] whether another lane waits for the op.
std::vector<bool> awaited_ops(const plan::Body& body, plan::Lane lane, size_t ops) {
  std::vector<bool> awaited(ops);
  for (const plan::PlanOp& op : body.ops) {
    for (const plan::Wait& wait : op.waits) {
      if (wait.lane != lane) continue;
      ZERO_REQUIRE(wait.count >= 1 && size_t(wait.count) <= ops, "body ", body.name,
                   " waits for op ", wait.count, " of lane ", plan::name_of(lane), ", which has ",
                   ops);
      awaited[size_t(wait.count) - 1] = true;
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
  for (const plan::PlanOp& op : plan.bodies[body].ops) {
    if (op.lane == lane) {
      ops.push_back(&op);
      collectives_before.push_back(collectives);
    }
    if (plan::is_collective(op.kind)) ++collectives;
  }
  const std::vector<bool> awaited = awaited_ops(plan.bodies[body], lane, ops.size());
  const auto joins = [&](const Segment& before, size_t place) {
    const plan::PlanOp &last = *ops[place - 1], &op = *ops[place];
    return before.count < most && op.waits.empty() && !before.awaited && is_device_work(last) &&
           is_device_work(op) && phase_of(plan, body, last) == phase_of(plan, body, op);
  };
  std::vector<Segment> segments;
  for (size_t place = 0; place < ops.size(); ++place) {
    if (segments.empty() || !joins(segments.back(), place)) {
      segments.push_back({.first = int32_t(place), .waits = ops[place]->waits});
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
