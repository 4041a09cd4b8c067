#include "zero/plan/forecast.hpp"

#include <algorithm>

#include "src/plan/lifetimes.hpp"
#include "zero/base/align.hpp"
#include "zero/graph/op_info.hpp"

namespace zero::plan {
namespace {

/// The largest sum, over a body, of the transient buffers of one use that live at the same time.
std::array<int64_t, kUses> transient_peaks(const Plan& plan, const Body& body) {
  std::vector<std::array<int64_t, kUses>> change(body.ops.size() + 1);
  for (const Lifetime& lifetime : find_lifetimes(plan, body)) {
    const Buffer& made = plan.buffers[size_t(lifetime.buffer)];
    const int64_t bytes = round_up(made.bytes, kExtentAlignBytes);
    change[size_t(lifetime.birth)][size_t(made.use)] += bytes;
    change[size_t(lifetime.death) + 1][size_t(made.use)] -= bytes;
  }
  std::array<int64_t, kUses> live{}, peak{};
  for (const auto& step : change) {
    for (size_t use = 0; use < live.size(); ++use) {
      live[use] += step[use];
      peak[use] = std::max(peak[use], live[use]);
    }
  }
  return peak;
}

void count_bytes(const Plan& plan, Forecast& forecast) {
  auto& device = forecast.bytes[size_t(Tier::device)];
  for (const Body& body : plan.bodies) {
    const auto peak = transient_peaks(plan, body);
    for (size_t use = 0; use < peak.size(); ++use) device[use] = std::max(device[use], peak[use]);
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.persistent) device[size_t(buffer.use)] += round_up(buffer.bytes, kExtentAlignBytes);
  }
  forecast.arena_bytes = plan.arena_bytes;
}

int64_t sent_elements(const Plan& plan, const PlanOp& op) {
  const int64_t peers = plan.request.ranks - 1;
  if (op.kind == Kind::all_reduce) return peers * op.operands[0].bytes / 8;
  return peers * op.piece_numel;
}

/// Row of Forecast::collectives.
size_t row_of(Kind collective) {
  if (collective == Kind::all_gather) return 0;
  return collective == Kind::reduce_scatter ? 1 : 2;
}

void count_collectives(const Plan& plan, Forecast& forecast) {
  for (size_t b = 0; b < plan.bodies.size(); ++b) {
    for (const PlanOp& op : plan.bodies[b].ops) {
      if (!is_collective(op.kind)) continue;
      CollectiveForecast& row = forecast.collectives[b][row_of(op.kind)];
      const int64_t elements = sent_elements(plan, op);
      row.calls += 1;
      row.elements += elements;
      row.bytes += elements * int64_t(bytes_of(op.in));
    }
  }
}

double seconds_of(const Plan& plan, const PlanOp& op, const Machine& machine) {
  if (is_collective(op.kind)) {
    const double bytes = double(sent_elements(plan, op)) * double(bytes_of(op.in));
    return machine.link_latency + bytes / machine.link_bandwidth;
  }
  if (op.kind == Kind::compute) {
    const graph::Graph& graph = plan.graphs[0];
    const graph::Op& made = graph.ops[size_t(op.graph_op)];
    return std::max(graph::info(made.kind).flops(graph, made) / machine.product_flops,
                    double(graph::traffic_bytes(graph, made)) / machine.memory_bandwidth);
  }
  double bytes = 0;
  for (const Operand& operand : op.operands) {
    bytes += double(operand.bytes) * (operand.mode == Mode::update ? 2 : 1);
  }
  return bytes / machine.memory_bandwidth;
}

/// Replays the step's lanes on a clock: an op starts when its lane is free and its waits are over.
void simulate(const Plan& plan, const Machine& machine, Forecast& forecast) {
  std::array<std::vector<double>, kLanes> finished;
  std::array<double, kLanes> free{};
  for (const PlanOp& op : plan.bodies[kStep].ops) {
    double& lane_free = free[size_t(op.lane)];
    double start = lane_free;
    for (const Wait& wait : op.waits) {
      start = std::max(start, finished[size_t(wait.lane)][size_t(wait.count) - 1]);
    }
    if (op.lane == Lane::compute) forecast.exposed_seconds += start - lane_free;
    const double seconds = seconds_of(plan, op, machine);
    forecast.lane_seconds[size_t(op.lane)] += seconds;
    lane_free = start + seconds;
    finished[size_t(op.lane)].push_back(lane_free);
    if (op.kind == Kind::compute) {
      const graph::Op& made = plan.graphs[0].ops[size_t(op.graph_op)];
      forecast.flops += graph::info(made.kind).flops(plan.graphs[0], made);
    }
  }
  forecast.step_seconds = *std::max_element(free.begin(), free.end());
  forecast.exposed_seconds += forecast.step_seconds - free[size_t(Lane::compute)];
}

}  // namespace

Forecast forecast(const Plan& plan, const Machine& machine) {
  Forecast made;
  count_bytes(plan, made);
  count_collectives(plan, made);
  simulate(plan, machine, made);
  return made;
}

}  // namespace zero::plan
