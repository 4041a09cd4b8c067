#include "src/graph/ops/ops.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph::ops {
namespace {

void gradient(GradientTape& tape, const Op& op) {
  const TensorId dx = tape.gradient(op.outputs[0]);
  bool fresh = false;
  const TensorId dtokens = tape.parameter_gradient(op.inputs[1], fresh);
  ZERO_REQUIRE(!fresh, "the token table ", tape.graph()[op.inputs[1]].name,
               " is not tied to the classifier: embedding_grad only adds to a gradient that the "
               "classifier has written");
  const TensorId dpositions = new_parameter_gradient(tape, op.inputs[2]);
  tape.append({.kind = OpKind::embedding_grad,
               .inputs = {op.inputs[0], dx, dtokens},
               .outputs = {dtokens, dpositions},
               .attributes = op.attributes});
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  return kernels::embedding_scratch_numel(embedding_extents(graph, op)) * int64_t(sizeof(int32_t));
}

}  // namespace

const OpInfo kEmbedding{"embedding", no_flops, no_scratch, gradient};
const OpInfo kEmbeddingAt{"embedding_at", no_flops, no_scratch, nullptr};
const OpInfo kEmbeddingGrad{"embedding_grad", no_flops, gradient_scratch, nullptr};

}  // namespace zero::graph::ops
