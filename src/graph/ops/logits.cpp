#include "src/graph/ops/ops.hpp"

namespace zero::graph::ops {
namespace {

double flops(const Graph& graph, const Op& op) {
  return 2.0 * double(op.attributes.vocabulary) * double(graph[op.inputs[1]].shape[1]);
}

}  // namespace

const OpInfo kLogits{"logits", flops, no_scratch, nullptr};

}  // namespace zero::graph::ops
