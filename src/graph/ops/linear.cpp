#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

/// Of a weight or bias, which may be a parameter or made from one.
TensorId weight_gradient(GradientTape& tape, TensorId weight) {
  if (tape.graph()[weight].role == Role::parameter) return new_parameter_gradient(tape, weight);
  const TensorId gradient = tape.like(weight);
  tape.contribute(weight, gradient);
  return gradient;
}

/// The weight's gradient comes first: it is the last reader of x, so the gradient of x, of equal
/// size, can take its bytes. The other way round x, dx and dy are alive together.
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], bias = op.inputs[2];
  const TensorId dy = tape.gradient(op.outputs[0]);
  tape.append({.kind = OpKind::linear_weight_grad,
               .inputs = {x, dy},
               .outputs = {weight_gradient(tape, weight)},
               .attributes = op.attributes});
  tape.append({.kind = OpKind::linear_bias_grad,
               .inputs = {dy},
               .outputs = {weight_gradient(tape, bias)},
               .attributes = op.attributes});
  if (tape.graph()[x].role != Role::activation) return;
  const TensorId dx = tape.like(x);
  tape.append({.kind = OpKind::linear_input_grad,
               .inputs = {dy, weight},
               .outputs = {dx},
               .attributes = op.attributes});
  tape.contribute(x, dx);
}

double product_flops(const Graph& graph, const Op& op) {
  const kernels::ProductSpec spec = product_spec(graph, op);
  return 2.0 * double(spec.m) * double(spec.n) * double(spec.k);
}

/// The last input is dy.
int64_t bias_scratch(const Graph& graph, const Op& op, int) {
  const Shape& dy = graph[op.inputs.back()].shape;
  return kernels::column_sum_scratch_numel(dy[0], dy[1]) * int64_t(sizeof(float));
}

int64_t parameter_bytes(const Graph& graph, const Op& op, int) {
  return parameter_scratch(graph, op).bytes;
}

/// Where the sum of dh over rows is wanted.
int64_t sum_scratch(const Graph& graph, const Op& op, int) {
  if (op.outputs.size() == 1) return 0;
  const Shape& dh = graph[op.outputs[0]].shape;
  return kernels::column_sum_scratch_numel(dh[0], dh[1]) * int64_t(sizeof(float));
}

}  // namespace

const OpInfo kLinear{"linear", product_flops, no_scratch, gradient};
const OpInfo kLinearInputGrad{"linear_input_grad", product_flops, no_scratch, nullptr};
const OpInfo kLinearWeightGrad{"linear_weight_grad", product_flops, no_scratch, nullptr};
const OpInfo kLinearBiasGrad{"linear_bias_grad", no_flops, bias_scratch, nullptr};
const OpInfo kLinearGelu{"linear_gelu", product_flops, no_scratch, nullptr};
const OpInfo kLinearAdd{"linear_add", product_flops, no_scratch, nullptr};
const OpInfo kLinearInputGeluGrad{"linear_input_gelu_grad", product_flops, sum_scratch, nullptr};
const OpInfo kLinearParameterGrad{"linear_parameter_grad", product_flops, parameter_bytes, nullptr};

}  // namespace zero::graph::ops
