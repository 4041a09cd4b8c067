#include "zero/plan/forecast.hpp"

#include <algorithm>
#include <cmath>

#include "src/plan/collective_time.hpp"
#include "zero/comm/nodes.hpp"
#include "zero/graph/operation.hpp"
#include "zero/plan/lifetimes.hpp"
#include "zero/plan/rounds.hpp"

namespace zero::plan {
namespace {

/// Bytes by tier and use, at index tier * kUses + use.
using UseBytes = std::array<int64_t, size_t(kTiers* kUses)>;
size_t place_of(const Buffer& buffer) { return size_t(buffer.tier) * kUses + size_t(buffer.use); }

/// Returns, for each use, the peak sum of transient buffers and copies that live at the same time
/// in a body.
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
  const int64_t peers = plan.request.groups().ranks_of(op.team) - 1;
  if (op.kind == Kind::all_reduce) return peers * op.operands[kSource].bytes / 8;
  return peers * op.piece_numel;
}

/// Returns the bytes of a collective that a rank sends to other nodes.
int64_t leaving_bytes(const Plan& plan, const PlanOp& op, const comm::Border& border) {
  const int64_t ranks = plan.request.groups().ranks_of(op.team);
  const int64_t element = int64_t(bytes_of(op.in));
  if (ranks == 1 || border.node_ranks == 0) return 0;
  const int64_t numel = sent_elements(plan, op) / (ranks - 1);
  const int64_t nodes = comm::other_nodes(ranks, border.node_ranks);
  if (op.kind == Kind::reduce_scatter && border.sums_once) return numel * nodes * 4;
  const bool once = op.kind != Kind::reduce_scatter && border.gathers_once;
  return numel * (once ? nodes : ranks - border.node_ranks) * element;
}

/// Returns the index in Forecast::collectives.
size_t row_of(Kind collective) {
  if (collective == Kind::all_gather) return 0;
  return collective == Kind::reduce_scatter ? 1 : 2;
}

/// Calls visit(op, times) for the ops of a body.
template <class Visit>
void visit_ops(const Body& body, const Visit& visit) {
  for (int32_t i = 0; i < int32_t(body.ops.size()); ++i) {
    visit(body.ops[size_t(i)], times_of(body, i));
  }
}

void count_disk(const Plan& plan, Forecast& forecast) {
  for (size_t b = 0; b < plan.bodies.size(); ++b) {
    DiskForecast& disk = forecast.disk[b];
    visit_ops(plan.bodies[b], [&](const PlanOp& op, int64_t times) {
      if (op.kind == Kind::disk_read) disk.bytes_read += op.operands[kSource].bytes * times;
      if (op.kind == Kind::disk_write) disk.bytes_written += op.operands[kSource].bytes * times;
    });
  }
}

/// Returns the bytes per second of an op that only moves bytes on its lane.
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

const graph::Op& graph_op(const Plan& plan, const PlanOp& op) {
  return plan.graphs[0].ops[size_t(op.graph_op)];
}

std::string_view kind_name(const Plan& plan, const PlanOp& op) {
  if (op.kind != Kind::compute) return name_of(op.kind, plan.request.optimizer);
  return graph_op(plan, op).kind->name;
}

/// Returns a count of the graph op's kind; 0 for other ops.
int64_t counted(const Plan& plan, const PlanOp& op,
                int64_t (*graph::Operation::*count)(const graph::Graph&, const graph::Op&)) {
  if (op.kind != Kind::compute) return 0;
  const graph::Op& made = graph_op(plan, op);
  return (made.kind->*count)(plan.graphs[0], made);
}

/// Returns the share of a kind or of a lane; 1 if it is not listed.
template <class Shares, class Key>
double share_of(const Key& key, const Shares& shares) {
  const auto share = shares.find(key);
  return share == shares.end() ? 1 : share->second;
}

/// Returns the seconds of an op at the machine's peak rates, as the op's team sees it.
double work_seconds(const Plan& plan, const PlanOp& op, int carries, const Machine& machine) {
  if (is_collective(op.kind)) {
    const double bytes = double(sent_elements(plan, op)) * double(bytes_of(op.in));
    return collective_seconds({.kind = op.kind,
                               .ranks = plan.request.groups().ranks_of(op.team),
                               .bytes = bytes,
                               .element_bytes = int64_t(bytes_of(op.in))},
                              machine);
  }
  if (op.kind == Kind::compute) {
    const graph::Graph& graph = plan.graphs[0];
    const graph::Op& made = graph_op(plan, op);
    return std::max(made.kind->flops(graph, made) / machine.product_flops,
                    double(made.kind->traffic_bytes(graph, made)) / machine.memory_bandwidth);
  }
  if (is_transfer(op.kind)) {
    return double(op.operands[kSource].bytes) / bandwidth_of(op.lane, machine);
  }
  // After a right guess, settle changes one word. The forecast assumes right guesses. Most steps
  // are not audited.
  if (op.kind == Kind::settle || op.kind == Kind::digest) return 0;
  const int passes = op.kind == Kind::speculate ? 1 : 2;
  double bytes = 0;
  for (const Operand& operand : op.operands) {
    bytes += double(operand.bytes) * (operand.mode == Mode::update ? passes : 1);
  }
  if (op.kind == Kind::carry)
    bytes = 3.0 * double(carries - 1) * double(op.operands[kSource].bytes);
  return bytes / bandwidth_of(op.lane, machine);
}

double seconds_of(const Plan& plan, const PlanOp& op, int carries, const Machine& machine) {
  using graph::Operation;
  const double work = work_seconds(plan, op, carries, machine);
  if (op.lane != Lane::compute) return work / share_of(op.lane, machine.lane_shares);
  const std::string_view kind = kind_name(plan, op);
  const auto exponential = machine.exponential_seconds.find(kind);
  const bool has_products = exponential != machine.exponential_seconds.end();
  const std::string_view shared = has_products ? "linear" : kind;
  double seconds = work / share_of(shared, machine.kind_shares) + machine.op_seconds;
  if (has_products)
    seconds += exponential->second * double(counted(plan, op, &Operation::exponentials));
  if (machine.random_rate > 0)
    seconds += double(counted(plan, op, &Operation::draws)) / machine.random_rate;
  return seconds;
}

/// A replay of the step's lanes on a clock. An op starts when its lane is free and its waits are
/// over.
class Replay {
 public:
  Replay(const Plan& plan, const Machine& machine, Forecast& forecast)
      : plan_(plan), body_(plan.bodies[kStep]), forecast_(forecast) {
    for (const Team team : kAllTeams)
      machines_[size_t(team)] = seen_by(machine, plan.request.groups(), team);
  }

  void run() {
    const int64_t rounds = std::min(body_.loop.rounds, kMostRounds);
    const Rounds turns(body_, rounds);
    const int64_t length = body_.loop.end - body_.loop.begin;
    const int64_t behind = body_.loop.end + (rounds - 1) * length;
    Forecast half;
    double half_free = 0;
    for (int64_t n = 0; n < turns.size(); ++n) {
      if (rounds == kMostRounds && n == behind - rounds / 2 * length) {
        half = forecast_;
        half_free = free_[0];
      }
      if (rounds == kMostRounds && n == behind) {
        skip(half, half_free, double(body_.loop.rounds - rounds) / double(rounds / 2));
      }
      run_op(turns, turns.turn(n));
    }
    forecast_.step_seconds = *std::max_element(free_.begin(), free_.end());
    forecast_.exposed_seconds += forecast_.step_seconds - free_[size_t(Lane::compute)];
  }

 private:
  /// Longer loops are extrapolated from the second half of these rounds.
  static constexpr int64_t kMostRounds = 16;

  void run_op(const Rounds& turns, const Turn& turn) {
    const PlanOp& op = body_.ops[size_t(turn.op)];
    double& lane_free = free_[size_t(op.lane)];
    double start = lane_free;
    for (const Wait& wait : op.waits) {
      const int64_t count = turns.awaited(wait, turn);
      start = std::max(start, finished_[size_t(wait.lane)][size_t(count) - 1]);
    }
    if (op.lane == Lane::compute) forecast_.exposed_seconds += start - lane_free;
    const int carries = op.counts ? carries_of(body_, op, turn.round) : int(op.operands.size());
    const double seconds = seconds_of(plan_, op, carries, machines_[size_t(op.team)]);
    forecast_.lane_seconds[size_t(op.lane)] += seconds;
    lane_free = start + seconds;
    finished_[size_t(op.lane)].push_back(lane_free);
    if (op.kind == Kind::compute) {
      const graph::Op& made = graph_op(plan_, op);
      forecast_.flops += made.kind->flops(plan_.graphs[0], made);
    }
  }

  /// Adds `times` the growth since the snapshot `since`, and advances the clocks of the loop's
  /// lanes.
  void skip(const Forecast& since, double since_free, double times) {
    const auto grow = [&](double& value, double from) { value += times * (value - from); };
    for (size_t lane = 0; lane < kLanes; ++lane) {
      grow(forecast_.lane_seconds[lane], since.lane_seconds[lane]);
    }
    grow(forecast_.exposed_seconds, since.exposed_seconds);
    grow(forecast_.flops, since.flops);
    const double later = times * (free_[size_t(Lane::compute)] - since_free);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (!is_in_loop(Lane(lane))) continue;
      free_[lane] += later;
      for (double& time : finished_[lane]) time += later;
    }
  }

  /// Lanes outside the loop finish their earlier ops in the meantime.
  bool is_in_loop(Lane lane) const {
    return std::any_of(body_.ops.begin() + body_.loop.begin, body_.ops.begin() + body_.loop.end,
                       [&](const PlanOp& op) { return op.lane == lane; });
  }

  const Plan& plan_;
  const Body& body_;
  std::array<Machine, kTeams> machines_;
  Forecast& forecast_;
  std::array<std::vector<double>, kLanes> finished_;
  std::array<double, kLanes> free_{};
};

}  // namespace

void add(CollectiveForecasts& sum, const CollectiveForecasts& more, int64_t times) {
  for (size_t verb = 0; verb < sum.size(); ++verb) {
    sum[verb].calls += times * more[verb].calls;
    sum[verb].elements += times * more[verb].elements;
    sum[verb].bytes += times * more[verb].bytes;
    sum[verb].node_bytes += times * more[verb].node_bytes;
  }
}

std::array<CollectiveForecasts, kBodies> collectives_of(const Plan& plan, const Borders& borders) {
  std::array<CollectiveForecasts, kBodies> sent{};
  for (size_t b = 0; b < plan.bodies.size(); ++b) {
    visit_ops(plan.bodies[b], [&](const PlanOp& op, int64_t times) {
      if (!is_collective(op.kind)) return;
      CollectiveForecast& row = sent[b][row_of(op.kind)];
      const int64_t elements = sent_elements(plan, op) * times;
      row.calls += times;
      row.elements += elements;
      row.bytes += elements * int64_t(bytes_of(op.in));
      row.node_bytes += leaving_bytes(plan, op, borders[size_t(op.team)]) * times;
    });
  }
  return sent;
}

Forecast forecast(const Plan& plan, const Machine& machine) {
  Forecast made;
  count_bytes(plan, made);
  made.collectives = collectives_of(plan, borders_of(machine, plan.request.groups()));
  count_disk(plan, made);
  Replay(plan, machine, made).run();
  return made;
}

std::map<std::string, KindForecast, std::less<>> kinds_of(const Plan& plan,
                                                          const Machine& machine) {
  std::map<std::string, KindForecast, std::less<>> kinds;
  visit_ops(plan.bodies[kStep], [&](const PlanOp& op, int64_t times) {
    if (op.lane != Lane::compute) return;
    KindForecast& kind = kinds[std::string(kind_name(plan, op))];
    kind.seconds += double(times) * seconds_of(plan, op, int(op.operands.size()), machine);
    kind.calls += times;
    kind.draws += times * counted(plan, op, &graph::Operation::draws);
    kind.exponentials += times * counted(plan, op, &graph::Operation::exponentials);
  });
  return kinds;
}

}  // namespace zero::plan
