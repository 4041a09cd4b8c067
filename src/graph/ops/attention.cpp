#include "zero/kernels/attention.hpp"

#include <algorithm>

#include "src/graph/ops/attention_operands.hpp"
#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

// Attention of a text to itself and to another text. The two differ only in their operands.

namespace zero::graph {
namespace {

kernels::AttentionExtents extents_of(const Graph& graph, const AttentionAttributes& attributes,
                                     const Sources<TensorId>& of) {
  const Shape& q = graph[of.q].shape;
  const int64_t samples = attributes.dropout.samples;
  const int64_t beside = of.kv == kNone ? 2 * attributes.key_heads : 0;
  return {.samples = samples,
          .length = q[0] / samples,
          .heads = attributes.heads,
          .head_width = q[1] / (attributes.heads + beside),
          .real_width = attributes.head_width,
          .keys = of.kv == kNone ? 0 : graph[of.kv].shape[0] / samples,
          .causal = attributes.both_ways == 0,
          .biased = of.bias != kNone,
          .counted = of.key_counts != kNone,
          .divide_by = float(attributes.divisor),
          .key_heads = attributes.key_heads,
          .window = attributes.window,
          .cap = float(attributes.cap),
          .ranged = of.first != kNone};
}

/// Returns the extents of forward or backward of a kind. Operands names the operands.
template <class Operands>
kernels::AttentionExtents extents(const Graph& graph, const Op& op) {
  return extents_of(graph, op.attributes.as<AttentionAttributes>(),
                    Operands::Of::template sources<TensorId>(inputs<Operands>(op)));
}

template <class T, class Operands>
kernels::AttentionInputs<T> arrays(const kernels::AttentionExtents& of, const OpCall& call) {
  const auto from = Operands::Of::template sources<Address>(inputs<Operands>(call));
  kernels::AttentionInputs<T> in = Operands::Of::template arrays<T>(of, from);
  in.bias = from.bias;
  in.key_counts = from.key_counts;
  in.first = from.first;
  return in;
}

kernels::DropoutSite site(const OpCall& call) {
  return site_of(call, call.op->attributes.as<AttentionAttributes>().dropout);
}

template <class Kind>
struct Forward {
  using Of = Kind;
  template <class S>
  using In = typename Kind::template In<S>;
  template <class S>
  using Out = typename Kind::template Out<S>;
  static constexpr bool kBackward = false;

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto of = extents<Forward>(*call.graph, *call.op);
    const auto out = outputs<Forward>(call);
    kernels::attention<T>(stream, of, site(call), inputs<Forward>(call).step_inputs,
                          {.in = arrays<T, Forward>(of, call),
                           .y = out.y,
                           .logsumexp = out.logsumexp,
                           .scratch = call.scratch});
  }
};

template <class Kind>
struct Backward {
  using Of = Kind;
  template <class S>
  using In = typename Kind::template GradIn<S>;
  template <class S>
  using Out = typename Kind::template GradOut<S>;
  static constexpr bool kBackward = true;

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto of = extents<Backward>(*call.graph, *call.op);
    const auto in = inputs<Backward>(call);
    const auto out = outputs<Backward>(call);
    kernels::AttentionGradArrays<T> all{.in = arrays<T, Backward>(of, call),
                                        .dy = in.dy,
                                        .y = in.y,
                                        .logsumexp = in.logsumexp,
                                        .dq = nullptr,
                                        .dk = nullptr,
                                        .dv = nullptr,
                                        .scratch = call.scratch,
                                        .dbias = out.dbias};
    Kind::template set_gradients<T>(of, out, all);
    kernels::attention_backward<T>(stream, of, site(call), in.step_inputs, all);
  }
};

using SelfForward = Forward<Self>;
using SelfBackward = Backward<Self>;
using CrossForward = Forward<Cross>;
using CrossBackward = Backward<Cross>;

/// Returns a tensor for the gradient of a bias, which layers may share; kNone if absent.
TensorId bias_gradient(GradientTape& tape, TensorId bias) {
  return bias == kNone ? kNone : tape.like(bias);
}

void self_gradient(GradientTape& tape, const Op& op) {
  const auto [qkv, step_inputs, bias, key_counts, first] = inputs<SelfForward>(op);
  const auto [y, logsumexp] = outputs<SelfForward>(op);
  const TensorId dqkv = tape.like(qkv), dbias = bias_gradient(tape, bias);
  tape.append(make_op<SelfBackward>(
      kAttentionGrad, {tape.gradient(y), y, qkv, logsumexp, step_inputs, bias, key_counts, first},
      {.dqkv = dqkv, .dbias = dbias}, op.attributes));
  tape.contribute(qkv, dqkv);
  if (bias != kNone) tape.contribute(bias, dbias);
}

void cross_gradient(GradientTape& tape, const Op& op) {
  const auto [q, kv, step_inputs, bias, key_counts] = inputs<CrossForward>(op);
  const auto [y, logsumexp] = outputs<CrossForward>(op);
  const TensorId dq = tape.like(q), dkv = tape.like(kv), dbias = bias_gradient(tape, bias);
  tape.append(make_op<CrossBackward>(
      kCrossAttentionGrad, {tape.gradient(y), y, q, kv, logsumexp, step_inputs, bias, key_counts},
      {.dq = dq, .dkv = dkv, .dbias = dbias}, op.attributes));
  tape.contribute(q, dq);
  tape.contribute(kv, dkv);
  if (bias != kNone) tape.contribute(bias, dbias);
}

/// Returns twice the pairs of a query and a key that a head of a sample sees. Causality leaves half
/// of all pairs, and a window takes those of the triangle behind it away. Padding and pairs of
/// different documents, which no graph knows, count too.
double twice_seen(const kernels::AttentionExtents& of) {
  const double all = double(of.length) * double(of.key_length());
  if (!of.causal) return 2 * all;
  const double behind = of.window > 0 ? double(std::max<int64_t>(of.length - of.window, 0)) : 0;
  return all - behind * behind;
}

/// Returns the operations of products: 2 for each pair and column. Forward has two products, scores
/// and the sum of values. Backward has five: scores again, and the gradients of v, probabilities, q
/// and k.
template <class Operands>
double flops(const Graph& graph, const Op& op) {
  const kernels::AttentionExtents of = extents<Operands>(graph, op);
  const double products = Operands::kBackward ? 5 : 2;
  return products * double(of.samples * of.heads * of.head_width) * twice_seen(of);
}

template <class Operands>
int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::attention_scratch_bytes(extents<Operands>(graph, op), compute_dtype(graph, op),
                                          threads);
}

template <class Operands>
void prepare(Stream&, const OpCall& call) {
  kernels::prepare_attention(extents<Operands>(*call.graph, *call.op),
                             compute_dtype(*call.graph, *call.op), Operands::kBackward);
}

/// Returns the number of scores that causality and a window do not mask.
template <class Operands>
int64_t scores(const Graph& graph, const Op& op) {
  const kernels::AttentionExtents of = extents<Operands>(graph, op);
  return of.samples * of.heads * int64_t(twice_seen(of)) / 2;
}

template <class Operands>
int64_t draws(const Graph& graph, const Op& op) {
  const double probability = op.attributes.as<AttentionAttributes>().dropout.probability;
  return probability > 0 ? scores<Operands>(graph, op) : 0;
}

/// Returns the heads of a forward op, with the operands that Kind names.
template <class Kind>
AttentionHeads heads_of(const Graph& graph, const Op& op) {
  const TensorId y = main_output(op);
  const auto attributes = op.attributes.as<AttentionAttributes>();
  const int64_t heads = attributes.heads, beside = 2 * attributes.key_heads;
  const auto from = Kind::template sources<TensorId>(inputs<Forward<Kind>>(op));
  AttentionHeads of{.read = {}, .written = {y, heads}, .width = graph[y].shape[1] / heads};
  of.read.push_back({from.q, from.kv == kNone ? heads + beside : heads});
  if (from.kv != kNone) of.read.push_back({from.kv, beside});
  return of;
}

void set_head_width(Op& op, int64_t width) {
  auto attributes = op.attributes.as<AttentionAttributes>();
  attributes.head_width = width;
  op.attributes = attributes;
}

template <class Operands>
constexpr Operation operation(std::string_view name,
                              void (*gradient)(GradientTape&, const Op&) = nullptr) {
  return {.name = name,
          .flops = flops<Operands>,
          .exponentials = scores<Operands>,
          .scratch_bytes = scratch<Operands>,
          .gradient = gradient,
          .draws = draws<Operands>,
          .call = call_typed<Operands>,
          .rehearsed = false,
          .prepare = prepare<Operands>};
}

template <class Kind>
constexpr Operation forward_operation(std::string_view name,
                                      void (*gradient)(GradientTape&, const Op&)) {
  Operation made = operation<Forward<Kind>>(name, gradient);
  made.heads = heads_of<Kind>;
  made.set_head_width = set_head_width;
  return made;
}

}  // namespace

const Operation kAttention = forward_operation<Self>("attention", self_gradient);
const Operation kAttentionGrad = operation<SelfBackward>("attention_grad");
const Operation kCrossAttention = forward_operation<Cross>("cross_attention", cross_gradient);
const Operation kCrossAttentionGrad = operation<CrossBackward>("cross_attention_grad");

namespace {

void require_extras(const GraphBuilder& out, const AttentionOptions& options, const Shape& bias) {
  const Graph& graph = out.graph();
  if (options.bias != kNone) {
    const Tensor& given = out[options.bias];
    ZERO_REQUIRE(given.dtype == Dtype::f32 && given.shape == bias, describe(given),
                 " is no bias of scores: fp32 ", to_text(bias), " is, a row for each head");
  }
  if (options.key_counts != kNone) {
    const Tensor& given = out[options.key_counts];
    ZERO_REQUIRE(given.dtype == Dtype::i32 && given.shape == Shape({graph.samples}),
                 describe(given), " has no count of keys for each of ", graph.samples, " samples");
  }
  ZERO_REQUIRE(options.window >= 0 && options.cap >= 0, "a window of ", options.window,
               " keys and a cap of ", options.cap, ": both must be at least 0");
  ZERO_REQUIRE(options.causal || options.window == 0,
               "only causal attention has a window of keys: this one sees all");
}

void require_first(const GraphBuilder& out, const AttentionOptions& options, int64_t rows) {
  if (options.first == kNone) return;
  const Tensor& given = out[options.first];
  ZERO_REQUIRE(options.causal && !out.continues(), describe(given),
               " is for causal attention over whole texts, not for a chunk that continues some");
  ZERO_REQUIRE(given.dtype == Dtype::i32 && given.shape.numel() == rows, describe(given),
               " has no first key for each of ", rows, " rows");
}

/// Returns the heads of keys, as many as of values.
int64_t heads_of_keys(const AttentionOptions& options) {
  return options.key_heads > 0 ? options.key_heads : options.heads;
}

/// Returns the rows of `x` per sample, each with `heads` heads of all kinds together.
int64_t rows_of_sample(const GraphBuilder& out, TensorId x, int64_t heads,
                       const AttentionOptions& options) {
  require_matrix(out[x]);
  const int64_t samples = out.graph().samples, of_keys = heads_of_keys(options);
  ZERO_REQUIRE(options.heads > 0 && options.heads % of_keys == 0, "attention of ", options.heads,
               " heads to ", of_keys, " of keys: each head of keys wants as many heads of queries");
  ZERO_REQUIRE(out[x].shape[1] % heads == 0, describe(out[x]), " does not split into ", heads,
               " heads");
  ZERO_REQUIRE(out[x].shape[0] % samples == 0, describe(out[x]), " does not split into ", samples,
               " samples");
  return out[x].shape[0] / samples;
}

AttentionAttributes attributes_of(GraphBuilder& out, const AttentionOptions& options) {
  return {.heads = options.heads,
          .dropout = drawn(out, options.dropout),
          .both_ways = options.causal ? 0 : 1,
          .divisor = options.divisor,
          .key_heads = heads_of_keys(options),
          .window = options.window,
          .cap = options.cap};
}

/// Returns y and the tensors that backward reads, for queries in the rows of `x`.
Self::Out<TensorId> results(GraphBuilder& out, TensorId x, int64_t width, int64_t heads) {
  const int64_t rows = out[x].shape[0], samples = out.graph().samples;
  const std::string name = "attention(" + out[x].name + ")";
  const TensorId y = out.activation(name, out.compute(), {rows, width});
  return {.y = y,
          .logsumexp =
              out.activation(name + ".logsumexp", Dtype::f32, {samples, heads, rows / samples})};
}

}  // namespace

TensorId attention(GraphBuilder& out, TensorId qkv, const AttentionOptions& options) {
  const int64_t heads = options.heads, all = heads + 2 * heads_of_keys(options);
  const int64_t length = rows_of_sample(out, qkv, all, options);
  const int64_t keys = out.continues() ? out.context() : length;
  require_extras(out, options, {heads, 2 * keys - 1});
  require_first(out, options, out[qkv].shape[0]);
  if (out.continues()) return cached_attention(out, qkv, options);
  const auto made = results(out, qkv, out[qkv].shape[1] / all * heads, heads);
  out.add(make_op<SelfForward>(kAttention,
                               {.qkv = qkv,
                                .step_inputs = out.graph().step_inputs,
                                .bias = options.bias,
                                .key_counts = options.key_counts,
                                .first = options.first},
                               made, attributes_of(out, options)));
  return made.y;
}

TensorId cross_attention(GraphBuilder& out, TensorId q, TensorId kv,
                         const AttentionOptions& options) {
  const int64_t heads = options.heads, width = out[q].shape[1];
  const int64_t beside = 2 * heads_of_keys(options);
  const int64_t queries = rows_of_sample(out, q, heads, options),
                keys = rows_of_sample(out, kv, beside, options);
  ZERO_REQUIRE(out[kv].shape[1] / beside == width / heads, describe(out[kv]),
               " has no keys and values for ", describe(out[q]));
  ZERO_REQUIRE(!options.causal || keys == queries, describe(out[q]), " has ", queries,
               " queries a sample and ", describe(out[kv]), " ", keys,
               " keys: causal attention wants as many");
  ZERO_REQUIRE(options.first == kNone, describe(out[q]),
               ": only attention of a text to itself has first keys");
  if (out.continues()) return cached_attention(out, q, kv, options);
  require_extras(out, options, {heads, queries + keys - 1});
  const auto made = results(out, q, width, heads);
  out.add(make_op<CrossForward>(kCrossAttention,
                                {.q = q,
                                 .kv = kv,
                                 .step_inputs = out.graph().step_inputs,
                                 .bias = options.bias,
                                 .key_counts = options.key_counts},
                                made, attributes_of(out, options)));
  return made.y;
}

}  // namespace zero::graph
