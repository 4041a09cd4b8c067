#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

bool is_differentiated(const Op& op) { return op.outputs.size() == 3; }

/// The differentiated form takes the op's place: logits are never kept, so both gradients are made
/// in the pass that makes the loss.
void gradient(GradientTape& tape, const Op& op) {
  const TensorId x = op.inputs[0], table = op.inputs[1];
  const TensorId dx = tape.like(x);
  const TensorId dtable = new_parameter_gradient(tape, table);
  tape.append({.kind = OpKind::classifier,
               .inputs = op.inputs,
               .outputs = {op.outputs[0], dx, dtable},
               .attributes = op.attributes});
  tape.contribute(x, dx);
}

double flops(const Graph& graph, const Op& op) {
  const kernels::ClassifierExtents extents = classifier_extents(graph, op);
  const double products = is_differentiated(op) ? 3 : 1;
  return products * 2.0 * double(extents.rows) * double(extents.width) *
         double(extents.padded_vocabulary);
}

int64_t scratch(const Graph& graph, const Op& op, int) {
  return kernels::classifier_scratch_bytes(classifier_extents(graph, op), compute_dtype(graph, op),
                                           is_differentiated(op));
}

}  // namespace

const OpInfo kClassifier{"classifier", flops, scratch, gradient};

}  // namespace zero::graph::ops
