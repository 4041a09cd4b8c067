#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

/// The residual branch's gradient of x is mostly there already, and the kernel adds it in passing.
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dy = tape.gradient(op.outputs[0]);
  const TensorId add = tape.take(x);
  const TensorId dx = tape.like(x);
  const TensorId dweight = new_parameter_gradient(tape, weight);
  const TensorId dbias = new_parameter_gradient(tape, bias);
  tape.append({.kind = OpKind::layernorm_grad,
               .inputs = {dy, x, weight, op.outputs[1], op.outputs[2], add},
               .outputs = {dx, dweight, dbias},
               .attributes = op.attributes});
  tape.contribute(x, dx);
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  return kernels::layernorm_scratch_numel(layernorm_extents(graph, op), op.outputs.size() > 3) *
         int64_t(sizeof(float));
}

}  // namespace

const OpInfo kLayernorm{"layernorm", no_flops, no_scratch, gradient};
const OpInfo kLayernormGrad{"layernorm_grad", no_flops, gradient_scratch, nullptr};

}  // namespace zero::graph::ops
