#include "src/graph/ops/ops.hpp"

namespace zero::graph::ops {
namespace {

/// Dropout is its own gradient under the same mask; an addition hands its gradient on as it is.
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = op.inputs[0], residual = op.inputs[1], step_inputs = op.inputs[2];
  const TensorId dy = tape.gradient(op.outputs[0]);
  if (residual != kNone) tape.contribute(residual, dy);
  if (op.attributes.probability == 0) {
    tape.contribute(x, dy);
    return;
  }
  const TensorId dx = tape.like(x);
  tape.append({.kind = OpKind::dropout_add,
               .inputs = {dy, kNone, step_inputs},
               .outputs = {dx},
               .attributes = op.attributes});
  tape.contribute(x, dx);
}

}  // namespace

const OpInfo kDropoutAdd{"dropout_add", no_flops, no_scratch, gradient};

}  // namespace zero::graph::ops
