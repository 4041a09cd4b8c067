#pragma once

#include "zero/plan/plan.hpp"

namespace zero::plan {

/// Which activation some bytes are of, and of which micro-batch.
struct Computed {
  graph::TensorId tensor = graph::kNone;  ///< kNone: bytes that are not followed
  int32_t micro = 0;
  bool operator==(const Computed&) const = default;
};

/// What the graph says of an operand of an op of a micro-batch: none of an op that computes
/// nothing, nor of scratch.
inline Computed computed_of(const Plan& plan, const Body& body, const PlanOp& op, int32_t micro,
                            size_t operand) {
  if (op.kind != Kind::compute) return {};
  const graph::Graph& graph = plan.graphs[size_t(body.graph)];
  const graph::Op& made = graph.ops[size_t(op.graph_op)];
  const size_t inputs = made.inputs.size();
  if (operand >= inputs + made.outputs.size()) return {};
  const graph::TensorId tensor =
      operand < inputs ? made.inputs[operand] : made.outputs[operand - inputs];
  const bool follows = tensor != graph::kNone && graph[tensor].role == graph::Role::activation;
  return follows ? Computed{tensor, micro} : Computed{};
}

}  // namespace zero::plan
