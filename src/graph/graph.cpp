#include "zero/graph/graph.hpp"

#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/graph/operation.hpp"

namespace zero::graph {

TensorId Graph::input(std::string_view name) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) {
    return (*this)[input.tensor].name == name;
  });
  ZERO_REQUIRE(found != inputs.end(), "the graph has no input ", name);
  return found->tensor;
}

TensorId Graph::output(std::string_view name) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Output& output) { return output.name == name; });
  ZERO_REQUIRE(found != outputs.end(), "the graph has no output ", name);
  return found->tensor;
}

std::vector<int32_t> parameter_index(const Graph& graph) {
  std::vector<int32_t> index(graph.tensors.size(), kNone);
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    index[size_t(graph.parameters[p].tensor)] = int32_t(p);
  }
  return index;
}

bool borrows(const Graph& graph) {
  return std::ranges::any_of(graph.parameters, &Parameter::borrowed);
}

int64_t frozen_numel(const Graph& graph) {
  int64_t numel = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.frozen) numel += parameter.real_numel;
  }
  return numel;
}

int32_t first_backward_op(const Graph& graph) {
  const auto is_backward = [](const Op& op) { return op.backward; };
  return int32_t(std::find_if(graph.ops.begin(), graph.ops.end(), is_backward) - graph.ops.begin());
}

int64_t operand_bytes(const Graph& graph, const Op& op) {
  int64_t total = 0;
  for (const std::vector<TensorId>* list : {&op.inputs, &op.outputs}) {
    for (TensorId tensor : *list) total += tensor == kNone ? 0 : graph[tensor].bytes();
  }
  return total;
}

void call(Stream& stream, const OpCall& call) {
  const Operation& kind = *call.op->kind;
  const size_t operands = call.op->inputs.size() + call.op->outputs.size();
  ZERO_REQUIRE(call.operands.size() == operands, kind.name, " takes ", operands, " operands, not ",
               call.operands.size());
  ZERO_REQUIRE(!call.sums || kind.sums, kind.name, " cannot add to a sum");
  kind.call(stream, call);
}

void prepare(Stream& stream, const OpCall& call) {
  if (call.op->kind->prepare != nullptr) call.op->kind->prepare(stream, call);
}

Dtype compute_dtype(const Graph& graph, const Op& op) {
  for (TensorId input : op.inputs) {
    if (input == kNone) continue;
    const Dtype dtype = graph[input].dtype;
    if (dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16) return dtype;
  }
  ZERO_REQUIRE(false, "an op of kind ", op.kind->name, " reads no floating-point tensor");
  return Dtype::f32;
}

}  // namespace zero::graph
