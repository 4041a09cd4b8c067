#include "src/graph/ops/kinds.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::graph {
namespace {

struct RowLinear {
  template <class S>
  struct In {
    S x;
    S weight;  ///< in kernels::WeightPanels
    S bias;    ///< may be absent
  };
  template <class S>
  struct Out {
    S y;
  };

  static kernels::RowProductExtents extents(const Graph& graph, const Op& op) {
    const auto in = inputs<RowLinear>(op);
    const Shape& weight = graph[in.weight].shape;
    return {.rows = graph[in.x].shape[0], .in = weight[0], .out = weight[1]};
  }

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<RowLinear>(call);
    kernels::row_product<T>(stream, extents(*call.graph, *call.op),
                            {.x = in.x,
                             .weight = in.weight,
                             .bias = in.bias,
                             .y = outputs<RowLinear>(call).y,
                             .scratch = call.scratch});
  }
};

double flops(const Graph& graph, const Op& op) {
  const kernels::RowProductExtents of = RowLinear::extents(graph, op);
  return 2.0 * double(of.rows) * double(of.in) * double(of.out);
}

int64_t scratch(const Graph& graph, const Op& op, int) {
  return kernels::row_product_scratch_numel(RowLinear::extents(graph, op)) * int64_t(sizeof(float));
}

TensorId panelled(const Op& op) { return inputs<RowLinear>(op).weight; }

}  // namespace

const Operation kRowLinear{.name = "row_linear",
                           .flops = flops,
                           .scratch_bytes = scratch,
                           .panelled = panelled,
                           .call = call_typed<RowLinear>,
                           .rehearsed = false};

Op row_linear(TensorId x, TensorId weight, TensorId bias, TensorId y) {
  return make_op<RowLinear>(kRowLinear, {.x = x, .weight = weight, .bias = bias}, {.y = y});
}

}  // namespace zero::graph
