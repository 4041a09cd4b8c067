#include <utility>

#include "zero/graph/graph_passes.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {
namespace {

/// A copier of a graph that repeats forward ops before the backward ops that read them.
class Copier {
 public:
  Copier(const Graph& graph, const std::vector<Recompute>& policy);
  Graph run();

 private:
  bool repeats(const Op& op) const;
  void repeat_unit(size_t first);
  TensorId again(TensorId tensor, int32_t unit);
  void repeat(const Op& op);

  const Graph& graph_;
  std::vector<Recompute> policy_;  ///< [units]
  Graph out_;
  std::vector<int32_t> maker_;       ///< [tensors] op to repeat for a copy; kNone: kept
  std::vector<TensorId> copy_;       ///< [tensors] copy, once made
  std::vector<bool> unit_repeated_;  ///< Recompute::full
};

Copier::Copier(const Graph& graph, const std::vector<Recompute>& policy)
    : graph_(graph),
      policy_(graph.unit_names.size(), Recompute::none),
      out_(graph),
      maker_(graph.tensors.size(), kNone),
      copy_(graph.tensors.size(), kNone),
      unit_repeated_(graph.unit_names.size(), false) {
  for (size_t i = 0; i < policy.size(); ++i) policy_[size_t(graph.blocks[i])] = policy[i];
  out_.ops.clear();
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!repeats(graph.ops[i])) continue;
    for (TensorId output : graph.ops[i].outputs) maker_[size_t(output)] = int32_t(i);
  }
}

bool Copier::repeats(const Op& op) const {
  return !op.backward && policy_[size_t(op.unit)] >= op.kind->repeated_from;
}

Graph Copier::run() {
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    Op op = graph_.ops[i];
    if (op.backward) {
      if (policy_[size_t(op.unit)] == Recompute::full) repeat_unit(i);
      for (TensorId& input : op.inputs) input = again(input, op.unit);
    }
    out_.ops.push_back(std::move(op));
  }
  return std::move(out_);
}

/// Repeats all tensors that the backward ops of a unit read, before its first backward op `first`.
/// There the fewest gradients are alive beside the activations.
void Copier::repeat_unit(size_t first) {
  const int32_t unit = graph_.ops[first].unit;
  if (unit_repeated_[size_t(unit)]) return;
  unit_repeated_[size_t(unit)] = true;
  for (size_t i = first; i < graph_.ops.size(); ++i) {
    if (graph_.ops[i].unit != unit) continue;
    for (TensorId input : graph_.ops[i].inputs) again(input, unit);
  }
}

/// Returns the tensor that backward code of `unit` reads instead of `tensor`. Tensors of other
/// units are kept, because they are inputs of this unit.
TensorId Copier::again(TensorId tensor, int32_t unit) {
  if (tensor == kNone || maker_[size_t(tensor)] == kNone) return tensor;
  const Op& maker = graph_.ops[size_t(maker_[size_t(tensor)])];
  if (maker.unit != unit) return tensor;
  if (copy_[size_t(tensor)] == kNone) repeat(maker);
  return copy_[size_t(tensor)];
}

void Copier::repeat(const Op& op) {
  Op copy = op;
  copy.backward = copy.repeated = true;
  for (TensorId& input : copy.inputs) input = again(input, op.unit);
  for (TensorId& output : copy.outputs) {
    Tensor tensor = graph_[output];
    ZERO_REQUIRE(tensor.role == Role::activation, "an op that writes ", tensor.name,
                 " cannot run twice");
    tensor.name += " again";
    out_.tensors.push_back(std::move(tensor));
    output = copy_[size_t(output)] = TensorId(out_.tensors.size()) - 1;
  }
  out_.ops.push_back(std::move(copy));
}

}  // namespace

Graph recompute(const Graph& graph, const std::vector<Recompute>& policy) {
  ZERO_REQUIRE(policy.size() == graph.blocks.size(), "recompute: ", policy.size(), " choices for ",
               graph.blocks.size(), " blocks");
  return Copier(graph, policy).run();
}

}  // namespace zero::graph
