#include "zero/plan/forecast.hpp"

#include <algorithm>

#include "src/plan/extents.hpp"
#include "src/plan/lifetimes.hpp"
#include "zero/graph/op_info.hpp"

namespace zero::plan {
namespace {

/// A number for each tier and use, at place tier * kUses + use.
using UseBytes = std::array<int64_t, size_t(kTiers* kUses)>;
size_t place_of(const Buffer& buffer) { return size_t(buffer.tier) * kUses + size_t(buffer.use); }

/// The largest sum, over a body, of the transient buffers and copies of one use that live at the
/// same time.
UseBytes transient_peaks(const Plan& plan, const Body& body) {
  std::vector<UseBytes> change(body.ops.size() + 1);
  for (const Lifetime& lifetime : find_lifetimes(plan, body)) {
    const Buffer& made = plan.buffers[size_t(lifetime.buffer)];
    change[size_t(lifetime.birth)][place_of(made)] += placed_bytes(made);
    change[size_t(lifetime.death) + 1][place_of(made)] -= placed_bytes(made);
  }
  UseBytes live{}, peak{};
  for (const UseBytes& step : change) {
    for (size_t i = 0; i < live.size(); ++i) {
      live[i] += step[i];
      peak[i] = std::max(peak[i], live[i]);
    }
  }
  return peak;
}

void count_bytes(const Plan& plan, Forecast& forecast) {
  UseBytes bytes{};
  for (const Body& body : plan.bodies) {
    const UseBytes peak = transient_peaks(plan, body);
    for (size_t i = 0; i < peak.size(); ++i) bytes[i] = std::max(bytes[i], peak[i]);
  }
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.persistent && buffer.copy_of < 0) bytes[place_of(buffer)] += placed_bytes(buffer);
  }
  for (size_t i = 0; i < bytes.size(); ++i) forecast.bytes[i / kUses][i % kUses] = bytes[i];
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

void count_disk(const Plan& plan, Forecast& forecast) {
  for (size_t b = 0; b < plan.bodies.size(); ++b) {
    DiskForecast& disk = forecast.disk[b];
    for (const PlanOp& op : plan.bodies[b].ops) {
      if (op.kind == Kind::disk_read) disk.bytes_read += op.operands[0].bytes;
      if (op.kind == Kind::disk_write) disk.bytes_written += op.operands[0].bytes;
    }
  }
}

/// Bytes a second of an op that does nothing but touch them, by its lane.
double bandwidth_of(Lane lane, const Machine& machine) {
  switch (lane) {
    case Lane::h2d:
    case Lane::d2h:
      return machine.copy_bandwidth;
    case Lane::disk_read:
      return machine.disk_read_bandwidth;
    case Lane::disk_write:
      return machine.disk_write_bandwidth;
    case Lane::host_optimizer:
      return machine.host_bandwidth;
    default:
      return machine.memory_bandwidth;
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
  if (is_transfer(op.kind)) {
    return double(op.operands[0].bytes) / bandwidth_of(op.lane, machine);
  }
  double bytes = 0;
  for (const Operand& operand : op.operands) {
    bytes += double(operand.bytes) * (operand.mode == Mode::update ? 2 : 1);
  }
  return bytes / bandwidth_of(op.lane, machine);
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
  count_disk(plan, made);
  simulate(plan, machine, made);
  return made;
}

}  // namespace zero::plan
