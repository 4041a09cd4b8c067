#include "src/graph/ops/kinds.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::graph {
namespace {

struct CachedAttentionAttributes {
  int64_t heads;
};

struct CachedAttention {
  template <class S>
  struct In {
    S qkv;
    S cache;  ///< updated
    S decode_inputs;
  };
  template <class S>
  struct Out {
    S y, cache;
  };

  static kernels::CachedAttentionExtents extents(const Graph& graph, const Op& op) {
    const auto in = inputs<CachedAttention>(op);
    const Shape& qkv = graph[in.qkv].shape;
    const int64_t heads = op.attributes.as<CachedAttentionAttributes>().heads;
    return {.rows = qkv[0],
            .heads = heads,
            .head_width = qkv[1] / 3 / heads,
            .columns = graph[in.cache].shape[1]};
  }

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<CachedAttention>(call);
    const auto out = outputs<CachedAttention>(call);
    kernels::cached_attention<T>(
        stream, extents(*call.graph, *call.op), in.decode_inputs,
        {.qkv = in.qkv, .cache = out.cache, .y = out.y, .scratch = call.scratch});
  }
};

/// Scores and the sum of values with the cache full; how full it is, only the host knows.
double flops(const Graph& graph, const Op& op) {
  const kernels::CachedAttentionExtents of = CachedAttention::extents(graph, op);
  return 4.0 * double(of.rows * of.heads) * double(of.head_width) * double(of.columns);
}

int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::cached_attention_scratch_bytes(CachedAttention::extents(graph, op), threads);
}

}  // namespace

const Operation kCachedAttention{.name = "cached_attention",
                                 .flops = flops,
                                 .scratch_bytes = scratch,
                                 .call = call_typed<CachedAttention>};

TensorId cached_attention(GraphBuilder& out, TensorId qkv, int64_t heads) {
  const int64_t rows = out[qkv].shape[0], width = out[qkv].shape[1] / 3;
  const std::string name = out[qkv].name;
  const TensorId cache =
      out.lasting(name + ".cache", out.compute(),
                  {2 * width, kernels::cache_columns(out.context())}, Role::cache);
  const TensorId y = out.activation("attention(" + name + ")", out.compute(), {rows, width});
  out.add(make_op<CachedAttention>(
      kCachedAttention, {.qkv = qkv, .cache = cache, .decode_inputs = out.graph().decode_inputs},
      {.y = y, .cache = cache}, CachedAttentionAttributes{.heads = heads}));
  return y;
}

}  // namespace zero::graph
