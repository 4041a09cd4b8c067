#include "zero/kernels/head_norm.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct HeadNormAttributes {
  int64_t heads, key_heads, whole;
  double epsilon, offset;
};

struct HeadNorm {
  template <class S>
  struct In {
    S x, query_weight, key_weight;
  };
  template <class S>
  struct Out {
    S y, rrms;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct HeadNormGrad {
  template <class S>
  struct In {
    S dy, x, query_weight, key_weight, rrms;
  };
  template <class S>
  struct Out {
    S dx, dquery_weight, dkey_weight;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

kernels::HeadNormExtents extents(const Graph& graph, const Op& op, TensorId x) {
  const auto of = op.attributes.as<HeadNormAttributes>();
  return {.packed = packed_rows(graph[x].shape, of.heads, of.key_heads), .whole = of.whole != 0};
}

template <class T>
void HeadNorm::call(Stream& stream, const OpCall& call) {
  const auto of = call.op->attributes.as<HeadNormAttributes>();
  const auto in = inputs<HeadNorm>(call);
  const auto out = outputs<HeadNorm>(call);
  kernels::head_norm<T>(stream, extents(*call.graph, *call.op, inputs<HeadNorm>(*call.op).x),
                        {.x = in.x,
                         .query_weight = in.query_weight,
                         .key_weight = in.key_weight,
                         .y = out.y,
                         .rrms = out.rrms,
                         .epsilon = float(of.epsilon),
                         .offset = float(of.offset)});
}

template <class T>
void HeadNormGrad::call(Stream& stream, const OpCall& call) {
  const auto of = call.op->attributes.as<HeadNormAttributes>();
  const auto in = inputs<HeadNormGrad>(call);
  const auto out = outputs<HeadNormGrad>(call);
  kernels::head_norm_backward<T>(stream,
                                 extents(*call.graph, *call.op, inputs<HeadNormGrad>(*call.op).x),
                                 {.dy = in.dy,
                                  .x = in.x,
                                  .query_weight = in.query_weight,
                                  .key_weight = in.key_weight,
                                  .rrms = in.rrms,
                                  .dx = out.dx,
                                  .dquery_weight = out.dquery_weight,
                                  .dkey_weight = out.dkey_weight,
                                  .scratch = call.scratch,
                                  .offset = float(of.offset)});
}

void gradient(GradientTape& tape, const Op& op) {
  const auto [x, query_weight, key_weight] = inputs<HeadNorm>(op);
  const auto [y, rrms] = outputs<HeadNorm>(op);
  const TensorId dy = tape.gradient(y), dx = tape.like(x);
  const TensorId dquery = tape.weight_gradient(query_weight);
  const TensorId dkey = tape.weight_gradient(key_weight);
  tape.append(make_op<HeadNormGrad>(
      kHeadNormGrad,
      {.dy = dy, .x = x, .query_weight = query_weight, .key_weight = key_weight, .rrms = rrms},
      {.dx = dx, .dquery_weight = dquery, .dkey_weight = dkey}, op.attributes));
  tape.contribute(x, dx);
}

int64_t gradient_scratch(const Graph& graph, const Op& op, int) {
  return kernels::head_norm_scratch_numel(extents(graph, op, inputs<HeadNormGrad>(op).x)) *
         int64_t(sizeof(float));
}

}  // namespace

const Operation kHeadNorm{.name = "head_norm",
                          .gradient = gradient,
                          .repeated_from = Recompute::selective,
                          .call = call_typed<HeadNorm>};
const Operation kHeadNormGrad{
    .name = "head_norm_grad", .scratch_bytes = gradient_scratch, .call = call_typed<HeadNormGrad>};

TensorId head_norm(GraphBuilder& out, TensorId qkv, const HeadNormOptions& options) {
  require_packed(out[qkv], options.packed);
  const auto [heads, key_heads] = options.packed;
  const kernels::HeadNormExtents of{.packed = packed_rows(out[qkv].shape, heads, key_heads),
                                    .whole = options.whole};
  const auto require = [&](TensorId weight, int64_t numel) {
    ZERO_REQUIRE(out[weight].shape == Shape({numel}), describe(out[weight]), " is no weight of ",
                 numel, " for ", options.whole ? "all heads" : "each head", " of ",
                 describe(out[qkv]));
  };
  require(options.query_weight, of.query_width());
  require(options.key_weight, of.key_width());
  const Shape shape = out[qkv].shape;
  const std::string name = "norm(" + out[qkv].name + ")";
  const TensorId y = out.activation(name, out.compute(), shape);
  const TensorId rrms = out.activation(name + ".rrms", Dtype::f32, {shape[0], of.norms()});
  out.add(make_op<HeadNorm>(
      kHeadNorm, {.x = qkv, .query_weight = options.query_weight, .key_weight = options.key_weight},
      {.y = y, .rrms = rrms},
      HeadNormAttributes{.heads = heads,
                         .key_heads = key_heads,
                         .whole = options.whole,
                         .epsilon = options.epsilon,
                         .offset = options.offset}));
  return y;
}

}  // namespace zero::graph
