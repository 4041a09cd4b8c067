#include "zero/graph/op_info.hpp"

#include <algorithm>

#include "src/graph/ops/ops.hpp"

namespace zero::graph {

const OpInfo& info(OpKind kind) {
  switch (kind) {
    case OpKind::embedding:
      return ops::kEmbedding;
    case OpKind::embedding_grad:
      return ops::kEmbeddingGrad;
    case OpKind::layernorm:
      return ops::kLayernorm;
    case OpKind::layernorm_grad:
      return ops::kLayernormGrad;
    case OpKind::linear:
      return ops::kLinear;
    case OpKind::linear_input_grad:
      return ops::kLinearInputGrad;
    case OpKind::linear_weight_grad:
      return ops::kLinearWeightGrad;
    case OpKind::linear_bias_grad:
      return ops::kLinearBiasGrad;
    case OpKind::gelu:
      return ops::kGelu;
    case OpKind::gelu_grad:
      return ops::kGeluGrad;
    case OpKind::attention:
      return ops::kAttention;
    case OpKind::attention_grad:
      return ops::kAttentionGrad;
    case OpKind::dropout_add:
      return ops::kDropoutAdd;
    case OpKind::add:
      return ops::kAdd;
    case OpKind::classifier:
      return ops::kClassifier;
    case OpKind::embedding_at:
      return ops::kEmbeddingAt;
    case OpKind::row_linear:
      return ops::kRowLinear;
    case OpKind::resize_heads:
      return ops::kResizeHeads;
    case OpKind::cached_attention:
      return ops::kCachedAttention;
    case OpKind::logits:
      return ops::kLogits;
    case OpKind::linear_gelu:
      return ops::kLinearGelu;
    case OpKind::linear_add:
      return ops::kLinearAdd;
    case OpKind::linear_input_gelu_grad:
      return ops::kLinearInputGeluGrad;
    case OpKind::linear_parameter_grad:
      return ops::kLinearParameterGrad;
    case OpKind::count_:
      break;
  }
  ZERO_REQUIRE(false, "no op kind ", int(kind));
  return ops::kAdd;
}

int64_t traffic_bytes(const Graph& graph, const Op& op) {
  // An embedding touches of its tables only the rows that the tokens name.
  const bool forward = op.kind == OpKind::embedding || op.kind == OpKind::embedding_at;
  const bool looks_up = forward || op.kind == OpKind::embedding_grad;
  const TensorId rows = forward ? op.outputs[0] : op.inputs[1];
  const auto touched = [&](TensorId tensor) {
    if (tensor == kNone) return int64_t(0);
    const int64_t bytes = graph[tensor].bytes();
    return looks_up ? std::min(bytes, graph[rows].bytes()) : bytes;
  };
  int64_t total = 0;
  for (TensorId input : op.inputs) total += touched(input);
  for (TensorId output : op.outputs) total += touched(output);
  return total;
}

}  // namespace zero::graph
