#include "src/graph/ops/kinds.hpp"
#include "zero/kernels/decode.hpp"

// Attention of rows of several texts to caches: a text to itself, an encoder's source to itself, a
// text to its source. In the last case another op has stored the keys.

namespace zero::graph {
namespace {

struct CachedAttentionAttributes {
  int64_t heads;
  int64_t caches;
  int64_t keys;  ///< kernels::CachedKeys
  double divisor;
  int64_t reach;          ///< reach of the bias; 0: no bias
  int64_t key_heads = 0;  ///< 0: as many as heads
  int64_t window = 0;
  double cap = 0;
  int64_t is_ring = 0;
};

int64_t heads_of_keys(const CachedAttentionAttributes& of) {
  return of.key_heads > 0 ? of.key_heads : of.heads;
}

/// The operands: `packed` holds queries, keys and values. For a text and its source it holds
/// queries only, and the cache is only read.
struct CachedAttention {
  template <class S>
  struct In {
    S packed;
    S cache;  ///< updated, only read, or absent if the op makes it
    S decode_inputs, rows;
    S moves = kAbsent<S>;
    S bias = kAbsent<S>;
  };
  template <class S>
  struct Out {
    S y;
    S cache = kAbsent<S>;
  };

  static kernels::CachedKeys keys(const Op& op) {
    return kernels::CachedKeys(op.attributes.as<CachedAttentionAttributes>().keys);
  }

  static kernels::CachedAttentionExtents extents(const Graph& graph, const Op& op) {
    const auto of = op.attributes.as<CachedAttentionAttributes>();
    const auto in = inputs<CachedAttention>(op);
    const auto out = outputs<CachedAttention>(op);
    const Shape& y = graph[out.y].shape;
    return {.rows = y[0],
            .heads = of.heads,
            .head_width = y[1] / of.heads,
            .columns = graph[in.cache != kNone ? in.cache : out.cache].shape[1],
            .caches = of.caches,
            .keys = keys(op),
            .divide_by = float(of.divisor),
            .reach = of.reach,
            .key_heads = of.key_heads,
            .window = of.window,
            .cap = float(of.cap),
            .is_ring = of.is_ring != 0};
  }

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<CachedAttention>(call);
    const auto out = outputs<CachedAttention>(call);
    const kernels::CachedAttentionExtents of = extents(*call.graph, *call.op);
    const int64_t width = of.width(), keys = of.key_width(), all = width + 2 * keys;
    const bool reads = of.keys == kernels::CachedKeys::source;
    const T* const packed = in.packed;
    kernels::NewKeys<T> stored;
    if (!reads) stored = {packed + width, packed + width + keys, all};
    kernels::cached_attention<T>(stream, of, in.decode_inputs,
                                 {.rows = in.rows,
                                  .moves = in.moves,
                                  .q = packed,
                                  .q_stride = reads ? width : all,
                                  .stored = stored,
                                  .bias = in.bias,
                                  .cache = reads ? in.cache : out.cache,
                                  .y = out.y,
                                  .scratch = call.scratch});
  }
};

struct StoreKeys {
  template <class S>
  struct In {
    S kv;
    S cache;  ///< updated
    S decode_inputs, rows;
  };
  template <class S>
  struct Out {
    S cache;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<StoreKeys>(call);
    const auto attributes = call.op->attributes.as<CachedAttentionAttributes>();
    const Graph& graph = *call.graph;
    const Shape& kv = graph[inputs<StoreKeys>(*call.op).kv].shape;
    const int64_t width = kv[1] / 2;
    const T* const keys = in.kv;
    kernels::store_keys<T>(stream,
                           {.rows = kv[0],
                            .heads = attributes.heads,
                            .head_width = width / heads_of_keys(attributes),
                            .columns = graph[inputs<StoreKeys>(*call.op).cache].shape[1],
                            .caches = attributes.caches,
                            .keys = kernels::CachedKeys::all,
                            .key_heads = attributes.key_heads},
                           in.decode_inputs,
                           {.rows = in.rows,
                            .q = nullptr,
                            .q_stride = 0,
                            .stored = {keys, keys + width, 2 * width},
                            .cache = outputs<StoreKeys>(call).cache,
                            .y = nullptr,
                            .scratch = nullptr});
  }
};

/// Returns the operations for full caches, because only the host knows how full they are.
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
                                 .call = call_typed<CachedAttention>,
                                 .rehearsed = false};
const Operation kStoreKeys{.name = "store_keys", .call = call_typed<StoreKeys>};

namespace {

CachedAttentionAttributes attributes_of(const GraphBuilder& out, const AttentionOptions& options,
                                        kernels::CachedKeys keys) {
  const bool of_texts = keys == kernels::CachedKeys::past;
  return {.heads = options.heads,
          .caches = of_texts ? out.chunk().texts : out.chunk().sources,
          .keys = int64_t(keys),
          .divisor = options.divisor,
          .reach = options.bias == kNone ? 0 : out.context(),
          .key_heads = options.key_heads == options.heads ? 0 : options.key_heads,
          .window = options.window,
          .cap = options.cap};
}

/// Returns the tokens that rows of a chunk can see, or 0 if caches have room for the context.
int64_t ring_of(const GraphBuilder& out, const AttentionOptions& options) {
  const int64_t rows = out.chunk().most_rows;
  if (!options.causal || options.window == 0 || rows == 0) return 0;
  const int64_t seen = options.window + rows - 1;
  return kernels::cache_columns(seen) < kernels::cache_columns(out.context()) ? seen : 0;
}

/// Returns the shape of caches for keys and values of `width` each.
Shape cache_shape(int64_t caches, int64_t width, int64_t context) {
  return {2 * width * caches, kernels::cache_columns(context)};
}

}  // namespace

TensorId cached_attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options) {
  const std::string name = out[qkv].name;
  auto attributes = attributes_of(
      out, options, options.causal ? kernels::CachedKeys::past : kernels::CachedKeys::all);
  const int64_t ring = ring_of(out, options);
  attributes.is_ring = ring > 0;
  const int64_t of_keys = heads_of_keys(attributes);
  const int64_t rows = out[qkv].shape[0];
  const int64_t head_width = out[qkv].shape[1] / (options.heads + 2 * of_keys);
  const int64_t width = options.heads * head_width;
  const Shape shape =
      cache_shape(attributes.caches, of_keys * head_width, ring > 0 ? ring : out.context());
  // An encoder's rows attend to keys that the same chunk has stored.
  const TensorId cache = options.causal
                             ? out.lasting(name + ".cache", out.compute(), shape, Role::cache)
                             : out.activation(name + ".keys", out.compute(), shape);
  const TensorId y = out.activation("attention(" + name + ")", out.compute(), {rows, width});
  out.add(make_op<CachedAttention>(kCachedAttention,
                                   {.packed = qkv,
                                    .cache = options.causal ? cache : kNone,
                                    .decode_inputs = out.graph().decode_inputs,
                                    .rows = out.chunk_input(kRowsInput),
                                    .moves = options.causal ? out.chunk_input(kMovesInput) : kNone,
                                    .bias = options.bias},
                                   {.y = y, .cache = cache}, attributes));
  return y;
}

TensorId cached_attention(GraphBuilder& out, TensorId q, TensorId kv,
                          const AttentionOptions& options) {
  ZERO_REQUIRE(!options.causal && options.bias == kNone, describe(out[q]),
               ": attention to a source sees all of it, without a bias");
  const auto attributes = attributes_of(out, options, kernels::CachedKeys::source);
  const int64_t width = out[kv].shape[1] / 2;
  const TensorId cache =
      out.lasting(out[kv].name + ".cache", out.compute(),
                  cache_shape(attributes.caches, width, out.chunk().source_context), Role::cache);
  const TensorId rows = out.chunk_input(kRowsInput), inputs = out.graph().decode_inputs;
  out.turn_to(Side::source);
  out.add(make_op<StoreKeys>(kStoreKeys,
                             {.kv = kv, .cache = cache, .decode_inputs = inputs, .rows = rows},
                             {.cache = cache}, attributes));
  out.turn_to(Side::text);
  const TensorId y =
      out.activation("attention(" + out[q].name + ")", out.compute(), {out[q].shape[0], width});
  out.add(make_op<CachedAttention>(
      kCachedAttention, {.packed = q, .cache = cache, .decode_inputs = inputs, .rows = rows},
      {.y = y}, attributes));
  return y;
}

}  // namespace zero::graph
