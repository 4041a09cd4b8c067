#include "zero/graph/operation.hpp"

namespace zero::graph {

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
