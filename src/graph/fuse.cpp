#include "zero/graph/fuse.hpp"

#include <optional>

namespace zero::graph {
namespace {

/// How many ops read a tensor. [tensors]
std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (TensorId input : op.inputs) {
      if (input != kNone) ++readers[size_t(input)];
    }
  }
  return readers;
}

/// Of one unit's code and of one pass: what chooses by these fields sees no difference.
bool belong_together(const Op& first, const Op& second) {
  return first.layer == second.layer && first.backward == second.backward &&
         first.repeated == second.repeated;
}

Op fused(const Op& first, OpKind kind, std::vector<TensorId> inputs,
         std::vector<TensorId> outputs) {
  Op op = first;
  op.kind = kind;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

/// The op that does what two neighbours do; none where no kernel does.
std::optional<Op> fuse_pair(const Op& first, const Op& second, const std::vector<int>& readers) {
  if (!belong_together(first, second)) return std::nullopt;
  const TensorId made = first.outputs[0];
  if (first.kind == OpKind::linear && second.kind == OpKind::gelu && second.inputs[0] == made) {
    return fused(first, OpKind::linear_gelu, first.inputs, {made, second.outputs[0]});
  }
  if (first.kind == OpKind::linear_input_grad && second.kind == OpKind::gelu_grad &&
      second.inputs[1] == made && readers[size_t(made)] == 1) {
    return fused(first, OpKind::linear_input_gelu_grad,
                 {first.inputs[0], first.inputs[1], second.inputs[0]}, second.outputs);
  }
  if (first.kind == OpKind::linear_weight_grad && second.kind == OpKind::linear_bias_grad &&
      second.inputs[0] == first.inputs[1]) {
    return fused(first, OpKind::linear_parameter_grad, first.inputs, {made, second.outputs[0]});
  }
  return std::nullopt;
}

}  // namespace

Graph fuse(const Graph& graph) {
  const std::vector<int> readers = count_readers(graph);
  Graph out = graph;
  out.ops.clear();
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    std::optional<Op> both;
    if (i + 1 < graph.ops.size()) both = fuse_pair(graph.ops[i], graph.ops[i + 1], readers);
    if (both) ++i;
    out.ops.push_back(both ? std::move(*both) : graph.ops[i]);
  }
  return out;
}

}  // namespace zero::graph
