#include "src/graph/ops/ops.hpp"

namespace zero::graph::ops {
namespace {

void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = op.inputs[0];
  const TensorId dx = tape.like(x);
  tape.append({.kind = OpKind::gelu_grad,
               .inputs = {x, tape.gradient(op.outputs[0])},
               .outputs = {dx},
               .attributes = op.attributes});
  tape.contribute(x, dx);
}

}  // namespace

const OpInfo kGelu{"gelu", no_flops, no_scratch, gradient};
const OpInfo kGeluGrad{"gelu_grad", no_flops, no_scratch, nullptr};

}  // namespace zero::graph::ops
