#include "zero/kernels/disentangled.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

struct DisentangledAttributes {
  int64_t heads;
  DistanceRange range;
  DropoutAttributes dropout;
};

/// The operands of both directions under common names.
template <class S>
struct Tokens {
  S q, k, v, position_keys, position_queries;
};

struct Forward {
  template <class S>
  struct In {
    Tokens<S> of;
    S step_inputs;
    S key_counts = kAbsent<S>;
  };
  template <class S>
  struct Out {
    S y, logsumexp;
  };
  static constexpr double kPairs = 2, kPositions = 2;  // products
  static constexpr bool kBackward = false;

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct Backward {
  template <class S>
  struct In {
    S dy, y, logsumexp;
    Tokens<S> of;
    S step_inputs;
    S key_counts = kAbsent<S>;
  };
  template <class S>
  struct Out {
    Tokens<S> gradient;
  };
  static constexpr double kPairs = 5, kPositions = 6;
  static constexpr bool kBackward = true;

  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

kernels::DistanceTable table_of(const DistanceRange& range) {
  return {.buckets = range.buckets, .most_distance = range.most_distance};
}

template <class Kind>
kernels::DisentangledExtents extents(const Graph& graph, const Op& op) {
  const auto attributes = op.attributes.as<DisentangledAttributes>();
  const auto in = inputs<Kind>(op);
  const Shape& q = graph[in.of.q].shape;
  return {.samples = attributes.dropout.samples,
          .length = q[0] / attributes.dropout.samples,
          .heads = attributes.heads,
          .head_width = q[1] / attributes.heads,
          .table = table_of(attributes.range),
          .counted = in.key_counts != kNone};
}

template <class T, class In>
kernels::AttentionInputs<T> arrays(const kernels::DisentangledExtents& of, const In& in) {
  return {.q = in.of.q,
          .k = in.of.k,
          .v = in.of.v,
          .q_stride = of.inner_width(),
          .kv_stride = of.inner_width(),
          .key_counts = in.key_counts};
}

kernels::DropoutSite site(const OpCall& call) {
  return site_of(call, call.op->attributes.as<DisentangledAttributes>().dropout);
}

template <class T>
void Forward::call(Stream& stream, const OpCall& call) {
  const auto of = extents<Forward>(*call.graph, *call.op);
  const auto in = inputs<Forward>(call);
  const auto out = outputs<Forward>(call);
  kernels::disentangled_attention<T>(stream, of, site(call), in.step_inputs,
                                     {.in = arrays<T>(of, in),
                                      .positions = {in.of.position_keys, in.of.position_queries},
                                      .y = out.y,
                                      .logsumexp = out.logsumexp,
                                      .scratch = call.scratch});
}

template <class T>
void Backward::call(Stream& stream, const OpCall& call) {
  const auto of = extents<Backward>(*call.graph, *call.op);
  const auto in = inputs<Backward>(call);
  const Tokens<Address> out = outputs<Backward>(call).gradient;
  kernels::disentangled_attention_backward<T>(
      stream, of, site(call), in.step_inputs,
      {.in = arrays<T>(of, in),
       .positions = {in.of.position_keys, in.of.position_queries},
       .dy = in.dy,
       .y = in.y,
       .logsumexp = in.logsumexp,
       .dq = out.q,
       .dk = out.k,
       .dv = out.v,
       .dpositions = {out.position_keys, out.position_queries},
       .scratch = call.scratch});
}

void gradient(GradientTape& tape, const Op& op) {
  const auto in = inputs<Forward>(op);
  const auto [y, logsumexp] = outputs<Forward>(op);
  const Tokens<TensorId> made{.q = tape.like(in.of.q),
                              .k = tape.like(in.of.k),
                              .v = tape.like(in.of.v),
                              .position_keys = tape.like(in.of.position_keys),
                              .position_queries = tape.like(in.of.position_queries)};
  tape.append(make_op<Backward>(kDisentangledAttentionGrad,
                                {.dy = tape.gradient(y),
                                 .y = y,
                                 .logsumexp = logsumexp,
                                 .of = in.of,
                                 .step_inputs = in.step_inputs,
                                 .key_counts = in.key_counts},
                                {.gradient = made}, op.attributes));
  tape.contribute(in.of.q, made.q);
  tape.contribute(in.of.k, made.k);
  tape.contribute(in.of.v, made.v);
  tape.contribute(in.of.position_keys, made.position_keys);
  tape.contribute(in.of.position_queries, made.position_queries);
}

/// Returns the operations of products: of queries with keys, and of tokens with the rows of the
/// table. Padding counts too.
template <class Kind>
double flops(const Graph& graph, const Op& op) {
  const kernels::DisentangledExtents of = extents<Kind>(graph, op);
  const double tokens = double(of.samples * of.length * of.inner_width());
  return 2 * tokens * (Kind::kPairs * double(of.length) + Kind::kPositions * double(of.rows()));
}

template <class Kind>
int64_t scores(const Graph& graph, const Op& op) {
  const kernels::DisentangledExtents of = extents<Kind>(graph, op);
  return of.samples * of.heads * of.length * of.length;
}

template <class Kind>
int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::disentangled_scratch_bytes(extents<Kind>(graph, op), compute_dtype(graph, op),
                                             threads);
}

template <class Kind>
int64_t draws(const Graph& graph, const Op& op) {
  const double probability = op.attributes.as<DisentangledAttributes>().dropout.probability;
  return probability > 0 ? scores<Kind>(graph, op) : 0;
}

template <class Kind>
void prepare(Stream&, const OpCall& call) {
  kernels::prepare_disentangled(extents<Kind>(*call.graph, *call.op),
                                compute_dtype(*call.graph, *call.op), Kind::kBackward);
}

template <class Kind>
constexpr Operation operation(std::string_view name,
                              void (*gradient)(GradientTape&, const Op&) = nullptr) {
  return {.name = name,
          .flops = flops<Kind>,
          .exponentials = scores<Kind>,
          .scratch_bytes = scratch<Kind>,
          .gradient = gradient,
          .draws = draws<Kind>,
          .call = call_typed<Kind>,
          .rehearsed = false,
          .prepare = prepare<Kind>};
}

/// Requires operands whose shapes fit, and returns the rows of a sample.
int64_t require_fitting(const GraphBuilder& out, const DisentangledOperands& of,
                        const DisentangledOptions& options) {
  const Tensor& q = out[of.q];
  const int64_t samples = out.graph().samples;
  require_matrix(q);
  ZERO_REQUIRE(options.heads > 0 && q.shape[1] % options.heads == 0, describe(q),
               " does not split into ", options.heads, " heads");
  ZERO_REQUIRE(q.shape[0] % samples == 0, describe(q), " does not split into ", samples,
               " samples");
  for (TensorId other : {of.k, of.v})
    ZERO_REQUIRE(out[other].shape == q.shape, describe(out[other]), " does not fit ", describe(q));
  const int64_t length = q.shape[0] / samples;
  const int64_t rows = kernels::distance_rows(table_of(options.range), length).count;
  for (TensorId positions : {of.position_keys, of.position_queries})
    ZERO_REQUIRE(out[positions].shape == Shape({rows, q.shape[1]}), describe(out[positions]),
                 " does not have the ", rows, " rows that ", length, " tokens read");
  if (options.key_counts != kNone) {
    const Tensor& counts = out[options.key_counts];
    ZERO_REQUIRE(counts.dtype == Dtype::i32 && counts.shape == Shape({samples}), describe(counts),
                 " has no count of tokens for each of ", samples, " samples");
  }
  return length;
}

}  // namespace

const Operation kDisentangledAttention = operation<Forward>("disentangled_attention", gradient);
const Operation kDisentangledAttentionGrad = operation<Backward>("disentangled_attention_grad");

TensorId disentangled_attention(GraphBuilder& out, const DisentangledOperands& of,
                                const DisentangledOptions& options) {
  ZERO_REQUIRE(!out.continues(), "disentangled attention does not continue texts");
  const int64_t length = require_fitting(out, of, options);
  const std::string name = "attention(" + out[of.q].name + ")";
  const TensorId y = out.activation(name, out.compute(), out[of.q].shape);
  const TensorId logsumexp =
      out.activation(name + ".logsumexp", Dtype::f32, {out.graph().samples, options.heads, length});
  out.add(make_op<Forward>(
      kDisentangledAttention,
      {.of = {of.q, of.k, of.v, of.position_keys, of.position_queries},
       .step_inputs = out.graph().step_inputs,
       .key_counts = options.key_counts},
      {.y = y, .logsumexp = logsumexp},
      DisentangledAttributes{
          .heads = options.heads, .range = options.range, .dropout = drawn(out, options.dropout)}));
  return y;
}

RowRange rows_by_distance(const DistanceRange& range, int64_t length) {
  const kernels::DistanceRows rows = kernels::distance_rows(table_of(range), length);
  return {.first = rows.first, .count = rows.count};
}

}  // namespace zero::graph
