#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/attention.hpp"

namespace zero::graph {
namespace {

/// Returns the extents. `table` is [buckets, heads], or its gradient.
kernels::RelativeBiasExtents extents(const Graph& graph, const Op& op, TensorId table) {
  const auto relative = op.attributes.as<RelativeBias>();
  const Shape& shape = graph[table].shape;
  return {.queries = relative.queries,
          .keys = relative.keys,
          .buckets = shape[0],
          .heads = shape[1],
          .max_distance = relative.max_distance,
          .bidirectional = relative.bidirectional != 0};
}

struct Bias {
  template <class S>
  struct In {
    S table;
  };
  template <class S>
  struct Out {
    S bias;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    kernels::relative_bias<T>(stream, extents(*call.graph, *call.op, inputs<Bias>(*call.op).table),
                              inputs<Bias>(call).table, outputs<Bias>(call).bias);
  }
};

struct BiasGrad {
  template <class S>
  struct In {
    S dbias;
  };
  template <class S>
  struct Out {
    S dtable;
  };

  /// Calls the kernel, which reads fp32 for any dtype of the table.
  static void call(Stream& stream, const OpCall& call) {
    const Graph& graph = *call.graph;
    const TensorId dtable = outputs<BiasGrad>(*call.op).dtable;
    with_type(graph[dtable].dtype, [&](auto t) {
      kernels::relative_bias_backward<typename decltype(t)::type>(
          stream, extents(graph, *call.op, dtable), inputs<BiasGrad>(call).dbias,
          outputs<BiasGrad>(call).dtable);
    });
  }
};

void gradient(GradientTape& tape, const Op& op) {
  const TensorId dbias = tape.gradient(outputs<Bias>(op).bias);
  tape.append(make_op<BiasGrad>(kRelativeBiasGrad, {.dbias = dbias},
                                {.dtable = tape.weight_gradient(inputs<Bias>(op).table)},
                                op.attributes));
}

}  // namespace

const Operation kRelativeBias{
    .name = "relative_bias", .gradient = gradient, .call = call_typed<Bias>};
const Operation kRelativeBiasGrad{.name = "relative_bias_grad", .call = BiasGrad::call};

TensorId relative_bias(GraphBuilder& out, TensorId table, const RelativeBias& relative) {
  require_matrix(out[table]);
  ZERO_REQUIRE(relative.queries > 0 && relative.keys > 0, describe(out[table]), " for ",
               relative.queries, " queries and ", relative.keys, " keys: both must be at least 1");
  const Shape shape{out[table].shape[1], relative.queries + relative.keys - 1};
  const TensorId bias = out.activation(stem(out[table].name), Dtype::f32, shape);
  out.add(make_op<Bias>(kRelativeBias, {.table = table}, {.bias = bias}, relative));
  return bias;
}

}  // namespace zero::graph
