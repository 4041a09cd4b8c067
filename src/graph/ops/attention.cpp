#include "zero/kernels/attention.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/passes.hpp"

namespace zero::graph {
namespace {

kernels::AttentionExtents extents(const Graph& graph, const Op& op, TensorId qkv) {
  const auto attributes = op.attributes.as<AttentionAttributes>();
  const Shape& shape = graph[qkv].shape;
  const int64_t samples = attributes.dropout.samples;
  return {.samples = samples,
          .length = shape[0] / samples,
          .heads = attributes.heads,
          .head_width = shape[1] / 3 / attributes.heads,
          .real_width = attributes.head_width};
}

kernels::DropoutSite site(const OpCall& call) {
  return site_of(call, call.op->attributes.as<AttentionAttributes>().dropout);
}

struct Attention {
  template <class S>
  struct In {
    S qkv, step_inputs;
  };
  template <class S>
  struct Out {
    S y, logsumexp;
  };
  static constexpr bool kBackward = false;

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Attention>(call);
    const auto out = outputs<Attention>(call);
    kernels::attention<T>(
        stream, extents(*call.graph, *call.op, inputs<Attention>(*call.op).qkv), site(call),
        in.step_inputs,
        {.qkv = in.qkv, .y = out.y, .logsumexp = out.logsumexp, .scratch = call.scratch});
  }
};

struct AttentionGrad {
  template <class S>
  struct In {
    S dy, y, qkv, logsumexp, step_inputs;
  };
  template <class S>
  struct Out {
    S dqkv;
  };
  static constexpr bool kBackward = true;

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<AttentionGrad>(call);
    kernels::attention_backward<T>(
        stream, extents(*call.graph, *call.op, inputs<AttentionGrad>(*call.op).qkv), site(call),
        in.step_inputs,
        {.dy = in.dy,
         .y = in.y,
         .qkv = in.qkv,
         .logsumexp = in.logsumexp,
         .dqkv = outputs<AttentionGrad>(call).dqkv,
         .scratch = call.scratch});
  }
};

void gradient(GradientTape& tape, const Op& op) {
  const auto [qkv, step_inputs] = inputs<Attention>(op);
  const auto [y, logsumexp] = outputs<Attention>(op);
  const TensorId dqkv = tape.like(qkv);
  tape.append(make_op<AttentionGrad>(kAttentionGrad,
                                     {.dy = tape.gradient(y),
                                      .y = y,
                                      .qkv = qkv,
                                      .logsumexp = logsumexp,
                                      .step_inputs = step_inputs},
                                     {.dqkv = dqkv}, op.attributes));
  tape.contribute(qkv, dqkv);
}

/// Products of queries with keys, half of them masked: 2 length^2 / 2 a column. Two of that size
/// are the scores and the values' sum; backward the scores again, then the gradients of v,
/// probabilities, q and k.
template <class Kind>
double flops(const Graph& graph, const Op& op) {
  const kernels::AttentionExtents of = extents(graph, op, inputs<Kind>(op).qkv);
  const double length = double(of.length);
  const double products = Kind::kBackward ? 5 : 2;
  return products * double(of.samples * of.heads * of.head_width) * length * length;
}

template <class Kind>
int64_t scratch(const Graph& graph, const Op& op, int threads) {
  return kernels::attention_scratch_bytes(extents(graph, op, inputs<Kind>(op).qkv),
                                          compute_dtype(graph, op), threads);
}

template <class Kind>
void prepare(Stream&, const OpCall& call) {
  kernels::prepare_attention(extents(*call.graph, *call.op, inputs<Kind>(*call.op).qkv),
                             compute_dtype(*call.graph, *call.op), Kind::kBackward);
}

bool draws(const Op& op) { return op.attributes.as<AttentionAttributes>().dropout.probability > 0; }

}  // namespace

const Operation kAttention{.name = "attention",
                           .flops = flops<Attention>,
                           .scratch_bytes = scratch<Attention>,
                           .gradient = gradient,
                           .draws = draws,
                           .call = call_typed<Attention>,
                           .prepare = prepare<Attention>};
const Operation kAttentionGrad{.name = "attention_grad",
                               .flops = flops<AttentionGrad>,
                               .scratch_bytes = scratch<AttentionGrad>,
                               .draws = draws,
                               .call = call_typed<AttentionGrad>,
                               .prepare = prepare<AttentionGrad>};

TensorId attention(GraphBuilder& out, TensorId qkv, int64_t heads, float dropout,
                   int64_t head_width) {
  require_matrix(out[qkv]);
  const Graph& graph = out.graph();
  const int64_t rows = out[qkv].shape[0], width = out[qkv].shape[1] / 3;
  ZERO_REQUIRE(heads > 0 && out[qkv].shape[1] % (3 * heads) == 0, describe(out[qkv]),
               " does not split into three times ", heads, " heads");
  ZERO_REQUIRE(rows % graph.samples == 0, describe(out[qkv]), " does not split into ",
               graph.samples, " samples");
  if (out.continues()) return cached_attention(out, qkv, heads);
  const std::string name = "attention(" + out[qkv].name + ")";
  const TensorId y = out.activation(name, out.compute(), {rows, width});
  const TensorId logsumexp =
      out.activation(name + ".logsumexp", Dtype::f32, {graph.samples, heads, rows / graph.samples});
  out.add(make_op<Attention>(
      kAttention, {.qkv = qkv, .step_inputs = graph.step_inputs}, {.y = y, .logsumexp = logsumexp},
      AttentionAttributes{
          .heads = heads, .head_width = head_width, .dropout = drawn(out, dropout)}));
  return y;
}

}  // namespace zero::graph
