#include "src/graph/ops/kinds.hpp"
#include "zero/kernels/decode.hpp"
#include "zero/kernels/elementwise.hpp"

namespace zero::graph {
namespace {

struct LogitsAttributes {
  double scale, cap;
};

struct Logits {
  template <class S>
  struct In {
    S x, table, decode_inputs, rows;
    S bias;  ///< may be absent
  };
  template <class S>
  struct Out {
    S logits;
  };

  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto in = inputs<Logits>(call);
    const auto out = outputs<Logits>(call);
    const Shape& shape = (*call.graph)[outputs<Logits>(*call.op).logits].shape;
    const int64_t width = (*call.graph)[inputs<Logits>(*call.op).table].shape[1];
    kernels::table_product<T>(stream, shape[1], width, in.decode_inputs,
                              {.x = in.x, .rows = in.rows, .table = in.table, .y = out.logits});
    const auto of = call.op->attributes.as<LogitsAttributes>();
    float* const logits = out.logits;
    for (int64_t row = 0; row < shape[0] && (of.scale != 1 || !(in.bias == nullptr)); ++row) {
      kernels::scale_and_shift<T>(stream, shape[1], float(of.scale), in.bias,
                                  logits + row * shape[1]);
    }
    if (of.cap > 0) kernels::cap_values(stream, shape.numel(), float(of.cap), logits);
  }
};

double flops(const Graph& graph, const Op& op) {
  return 2.0 * double(graph[outputs<Logits>(op).logits].shape.numel()) *
         double(graph[inputs<Logits>(op).table].shape[1]);
}

}  // namespace

const Operation kLogits{
    .name = "logits", .flops = flops, .call = call_typed<Logits>, .rehearsed = false};

void logits(GraphBuilder& out, TensorId x, TensorId table, const LogitOptions& options) {
  require_head(out[x], out[table], options.vocabulary);
  require_logit_bias(out, options.bias, table);
  ZERO_REQUIRE(options.cap >= 0, "a cap on logits of ", options.cap, ": at least 0, which is none");
  ZERO_REQUIRE(out.continues(), "logits of a micro-batch: use classifier()");
  const TensorId logits =
      out.output(kLogitsOutput, Dtype::f32, {out.chunk().texts, options.vocabulary});
  out.add(make_op<Logits>(kLogits,
                          {.x = x,
                           .table = table,
                           .decode_inputs = out.graph().decode_inputs,
                           .rows = out.chunk_input(kLogitRowsInput),
                           .bias = options.bias},
                          {.logits = logits},
                          LogitsAttributes{.scale = options.scale, .cap = options.cap}));
}

void logits(GraphBuilder& out, TensorId x, TensorId table, int64_t vocabulary) {
  logits(out, x, table, {.vocabulary = vocabulary});
}

}  // namespace zero::graph
