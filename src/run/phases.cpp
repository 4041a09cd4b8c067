#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using plan::Kind;

/// At stage 0 whole gradients are put together by the same verb as weights.
bool moves_weights(const plan::Plan& plan, const plan::PlanOp& gather) {
  const plan::Use use = plan.buffers[size_t(gather.operands[plan::kTarget].buffer)].use;
  return use == plan::Use::weights || use == plan::Use::gathered_weights;
}

/// Gradients on their way to the optimizer, weights on their way to use, activations between the
/// passes, or states.
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

}  // namespace

const char* name_of(Phase phase) {
  static constexpr const char* kNames[] = {"forward",   "backward", "reduce",
                                           "optimizer", "gather",   "none"};
  static_assert(std::size(kNames) == size_t(kPhases));
  return kNames[size_t(phase)];
}

Phase phase_of(const plan::Plan& plan, plan::BodyId body, const plan::PlanOp& op) {
  if (body == plan::kEvaluate) return Phase::none;
  switch (op.kind) {
    case Kind::compute: {
      const graph::Graph& graph = plan.graphs[size_t(plan.bodies[body].graph)];
      return graph.ops[size_t(op.graph_op)].backward ? Phase::backward : Phase::forward;
    }
    case Kind::accumulate:
    case Kind::carry:
    case Kind::round_sum:
    case Kind::clear:
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

}  // namespace zero::run
