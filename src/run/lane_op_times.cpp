#include "src/run/lane_op_times.hpp"

#include <algorithm>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/device/region.hpp"
#include "zero/graph/operation.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using plan::BodyId;
using plan::Kind;
using plan::kLanes;

/// True if a gather moves weights. At stage 0 it also gathers whole gradients.
bool moves_weights(const plan::Plan& plan, const plan::PlanOp& gather) {
  const plan::Use use = plan.buffers[size_t(gather.operands[plan::kTarget].buffer)].use;
  return use == plan::Use::weights || use == plan::Use::gathered_weights;
}

/// Returns the phase of a transfer of gradients, weights, activations or states.
Phase phase_of_transfer(const plan::Plan& plan, const plan::PlanOp& op) {
  const auto use = [&](size_t operand) {
    return plan.buffers[size_t(op.operands[operand].buffer)].use;
  };
  if (use(1) == plan::Use::gradients) return Phase::reduce;
  if (use(0) == plan::Use::activations || use(1) == plan::Use::activations) {
    const bool leaves = op.lane == plan::Lane::d2h || op.lane == plan::Lane::disk_write;
    return leaves ? Phase::forward : Phase::backward;
  }
  const bool fetches = use(1) == plan::Use::gathered_weights;
  return fetches ? Phase::gather : Phase::optimizer;
}

bool trains(BodyId body) { return body == plan::kStep || body == plan::kFinish; }

}  // namespace

const char* name_of(Phase phase) {
  static constexpr const char* kNames[] = {"forward",   "backward", "reduce",
                                           "optimizer", "gather",   "none"};
  static_assert(std::size(kNames) == size_t(kPhases));
  return kNames[size_t(phase)];
}

Phase phase_of(const plan::Plan& plan, plan::BodyId body, const plan::PlanOp& op) {
  if (body == plan::kEvaluate || body == plan::kAudit) return Phase::none;
  switch (op.kind) {
    case Kind::compute: {
      const graph::Graph& graph = plan.graphs[size_t(plan.bodies[body].graph)];
      return graph.ops[size_t(op.graph_op)].backward ? Phase::backward : Phase::forward;
    }
    case Kind::accumulate:
    case Kind::carry:
    case Kind::round_sum:
    case Kind::clear:
    case Kind::digest:
    case Kind::reduce_scatter:
      return Phase::reduce;
    case Kind::copy:
    case Kind::disk_read:
    case Kind::disk_write:
      return phase_of_transfer(plan, op);
    case Kind::all_gather:
      return moves_weights(plan, op) ? Phase::gather : Phase::reduce;
    default:
      return Phase::optimizer;
  }
}

const char* name_of(const BoundOp& op) {
  if (op.op->kind == plan::Kind::compute) {
    return op.graph->ops[size_t(op.op->graph_op)].kind->name.data();
  }
  return plan::name_of(op.op->kind, op.plan->request.optimizer);
}

std::string region_of(const BoundOp& bound) {
  const plan::PlanOp& op = *bound.op;
  const bool others = op.lane != plan::Lane::compute;
  if (!tool_listens() || (others && !regions_are_of_threads())) return "";
  std::string name = others ? text(plan::name_of(op.lane), ": ") : "";
  name += name_of(bound);
  if (op.unit >= 0) name += " " + bound.plan->units.at(size_t(op.unit)).name;
  if (op.graph_op < 0) return name;
  const graph::Op& of_graph = bound.graph->ops[size_t(op.graph_op)];
  return name + " " + bound.graph->unit_names.at(size_t(of_graph.unit));
}

int32_t ProfileRows::of(const BoundOp& op) {
  const std::string_view name = name_of(op);
  const auto found =
      std::ranges::find(names_, name, [](const char* known) { return std::string_view(known); });
  const auto row = found - names_.begin();
  if (found == names_.end()) names_.push_back(name.data());
  return int32_t(row);
}

TraceRing::TraceRing(const plan::Plan& plan, int bodies) {
  ZERO_REQUIRE(bodies >= 1, "a trace of ", bodies, " bodies: at least 1");
  for (size_t body = 0; body < plan::kBodies; ++body) {
    const plan::Rounds rounds(plan.bodies[body]);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      counts_[body][lane] = size_t(rounds.size(plan::Lane(lane)));
    }
  }
  slots_.resize(size_t(bodies));
  for (Slot& slot : slots_) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      slot.ops[lane].resize(std::max(counts_[plan::kStep][lane], counts_[plan::kFinish][lane]));
    }
  }
}

TraceRing::Notes TraceRing::begin(BodyId body, int64_t step) {
  Notes notes{};
  if (!trains(body)) return notes;
  Slot& slot = current();
  slot.body = body;
  slot.step = step;
  slot.whole.begin = OpTime::Clock::now();
  for (size_t lane = 0; lane < kLanes; ++lane) notes[lane] = slot.ops[lane].data();
  return notes;
}

void TraceRing::end(BodyId body) {
  if (!trains(body)) return;
  current().whole.end = OpTime::Clock::now();
  ++ended_;
}

std::vector<TracedBody> TraceRing::bodies() const {
  std::vector<TracedBody> kept;
  const size_t first = ended_ - std::min(ended_, slots_.size());
  for (size_t turn = first; turn < ended_; ++turn) {
    const Slot& slot = slots_[turn % slots_.size()];
    TracedBody traced{.body = slot.body, .step = slot.step, .whole = slot.whole, .ops = {}};
    for (size_t lane = 0; lane < kLanes; ++lane) {
      traced.ops[lane] = std::span(slot.ops[lane]).first(counts_[slot.body][lane]);
    }
    kept.push_back(traced);
  }
  return kept;
}

}  // namespace zero::run
