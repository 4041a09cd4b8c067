#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::graph {
namespace {

struct ResizeHeadsAttributes {
  int64_t heads;  ///< in all rows
};

struct ResizeHeads {
  template <class S>
  struct In {
    S weight;
  };
  template <class S>
  struct Out {
    S resized;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const Graph& graph = *call.graph;
    const int64_t heads = call.op->attributes.as<ResizeHeadsAttributes>().heads;
    const int64_t from = graph[inputs<ResizeHeads>(*call.op).weight].shape.numel();
    const int64_t to = graph[outputs<ResizeHeads>(*call.op).resized].shape.numel();
    kernels::resize_heads<T>(stream, {.heads = heads, .from = from / heads, .to = to / heads},
                             inputs<ResizeHeads>(call).weight, outputs<ResizeHeads>(call).resized);
  }
};

/// Resizes the gradient back, without that of the added zeros.
void gradient(GradientTape& tape, const Op& op) {
  const TensorId dresized = tape.gradient(outputs<ResizeHeads>(op).resized);
  tape.append(make_op<ResizeHeads>(
      kResizeHeads, {.weight = dresized},
      {.resized = tape.weight_gradient(inputs<ResizeHeads>(op).weight)}, op.attributes));
}

}  // namespace

const Operation kResizeHeads{.name = "resize_heads",
                             .gradient = gradient,
                             .repeated_from = Recompute::none,
                             .call = call_typed<ResizeHeads>};

Op resizing(TensorId weight, TensorId wide, int64_t heads) {
  return make_op<ResizeHeads>(kResizeHeads, {.weight = weight}, {.resized = wide},
                              ResizeHeadsAttributes{.heads = heads});
}

}  // namespace zero::graph
