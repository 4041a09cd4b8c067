#include "src/graph/ops/ops.hpp"

namespace zero::graph::ops {
namespace {

/// What was added were zeros, whose gradient nobody wants.
void gradient(GradientTape& tape, const Op& op) {
  tape.append({.kind = OpKind::resize_heads,
               .inputs = {tape.gradient(op.outputs[0])},
               .outputs = {new_parameter_gradient(tape, op.inputs[0])},
               .attributes = op.attributes});
}

}  // namespace

const OpInfo kResizeHeads{"resize_heads", no_flops, no_scratch, gradient};

}  // namespace zero::graph::ops
