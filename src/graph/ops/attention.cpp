#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

void gradient(GradientTape& tape, const Op& op) {
  const TensorId qkv = op.inputs[0], step_inputs = op.inputs[1];
  const TensorId y = op.outputs[0], logsumexp = op.outputs[1];
  const TensorId dqkv = tape.like(qkv);
  tape.append({.kind = OpKind::attention_grad,
               .inputs = {tape.gradient(y), y, qkv, logsumexp, step_inputs},
               .outputs = {dqkv},
               .attributes = op.attributes});
  tape.contribute(qkv, dqkv);
}

/// One product of queries with keys, half of them masked: 2 length^2 / 2 a column.
double one_product(const Graph& graph, const Op& op) {
  const kernels::AttentionExtents extents = attention_extents(graph, op);
  const double length = double(extents.length);
  return double(extents.samples * extents.heads * extents.head_width) * length * length;
}

double flops(const Graph& graph, const Op& op) { return 2 * one_product(graph, op); }

/// Scores again, then the gradients of v, probabilities, q and k.
double gradient_flops(const Graph& graph, const Op& op) { return 5 * one_product(graph, op); }

int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::attention_scratch_bytes(attention_extents(graph, op), compute_dtype(graph, op),
                                          threads);
}

}  // namespace

const OpInfo kAttention{"attention", flops, scratch, gradient};
const OpInfo kAttentionGrad{"attention_grad", gradient_flops, scratch, nullptr};

}  // namespace zero::graph::ops
