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

using Pair = std::optional<Op> (*)(const Op& first, const Op& second,
                                   const std::vector<int>& readers);

/// What a product does on its way out; none where it cannot.
std::optional<Op> product_with_next(const Op& first, const Op& second,
                                    const std::vector<int>& readers) {
  const TensorId made = first.outputs[0];
  const bool alone = readers[size_t(made)] == 1;
  if (first.kind == OpKind::linear && second.kind == OpKind::gelu && second.inputs[0] == made) {
    return fused(first, OpKind::linear_gelu, first.inputs, {made, second.outputs[0]});
  }
  const bool adds = second.kind == OpKind::dropout_add && second.attributes.probability == 0 &&
                    second.inputs[1] != kNone && second.inputs[1] != made;
  if (first.kind == OpKind::linear && adds && second.inputs[0] == made && alone) {
    return fused(first, OpKind::linear_add,
                 {first.inputs[0], first.inputs[1], first.inputs[2], second.inputs[1]},
                 second.outputs);
  }
  if (first.kind == OpKind::linear_input_grad && second.kind == OpKind::gelu_grad &&
      second.inputs[1] == made && alone) {
    return fused(first, OpKind::linear_input_gelu_grad,
                 {first.inputs[0], first.inputs[1], second.inputs[0]}, second.outputs);
  }
  return std::nullopt;
}

std::optional<Op> weight_with_bias(const Op& first, const Op& second, const std::vector<int>&) {
  if (first.kind == OpKind::linear_weight_grad && second.kind == OpKind::linear_bias_grad &&
      second.inputs[0] == first.inputs[1]) {
    return fused(first, OpKind::linear_parameter_grad, first.inputs,
                 {first.outputs[0], second.outputs[0]});
  }
  return std::nullopt;
}

/// One op in place of two neighbours wherever `pair` gives one.
void fuse_neighbours(Graph& graph, Pair pair) {
  const std::vector<int> readers = count_readers(graph);
  std::vector<Op> ops;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    std::optional<Op> both;
    if (i + 1 < graph.ops.size() && belong_together(graph.ops[i], graph.ops[i + 1]))
      both = pair(graph.ops[i], graph.ops[i + 1], readers);
    if (both) ++i;
    ops.push_back(both ? std::move(*both) : std::move(graph.ops[i]));
  }
  graph.ops = std::move(ops);
}

/// Whether an op's kernel can add the rows of its first output beside writing it, and does not.
bool has_room_for_sum(const Op& op) {
  return (op.kind == OpKind::layernorm_grad && op.outputs.size() == 3) ||
         (op.kind == OpKind::linear_input_gelu_grad && op.outputs.size() == 1);
}

/// A bias's gradient is the sum over rows of its layer's dy.
void add_biases_where_dy_is_written(Graph& graph) {
  std::vector<Op> ops;
  std::vector<int32_t> writer(graph.tensors.size(), kNone);
  for (Op& op : graph.ops) {
    const int32_t from = op.kind == OpKind::linear_bias_grad ? writer[size_t(op.inputs[0])] : kNone;
    if (from != kNone && has_room_for_sum(ops[size_t(from)])) {
      ops[size_t(from)].outputs.push_back(op.outputs[0]);
      continue;
    }
    writer[size_t(op.outputs[0])] = int32_t(ops.size());
    ops.push_back(std::move(op));
  }
  graph.ops = std::move(ops);
}

}  // namespace

Graph fuse(const Graph& graph) {
  Graph out = graph;
  fuse_neighbours(out, product_with_next);
  add_biases_where_dy_is_written(out);
  fuse_neighbours(out, weight_with_bias);
  return out;
}

}  // namespace zero::graph
