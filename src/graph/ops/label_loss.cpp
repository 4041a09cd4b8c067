#include "zero/kernels/label_loss.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"

namespace zero::graph {
namespace {

template <class S>
struct LabelIn {
  S logits, labels, step_inputs, step_state;
  S sums;  ///< updated
};

/// The part that a loss shares with its gradient. Loss names the kernel.
template <class Loss>
struct Forward {
  template <class S>
  using In = LabelIn<S>;
  template <class S>
  struct Out {
    S sums;
    S scores = kAbsent<S>;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto out = outputs<Forward>(call);
    Loss::template run<T>(stream, call, {out.sums, out.scores, {}});
  }
};

template <class Loss>
struct Backward {
  template <class S>
  using In = LabelIn<S>;
  template <class S>
  struct Out {
    S sums, dlogits;
    S scores = kAbsent<S>;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call) {
    const auto out = outputs<Backward>(call);
    Loss::template run<T>(stream, call, {out.sums, out.scores, out.dlogits});
  }
};

/// The outputs of a call; scores and dlogits may be null.
struct Written {
  Address sums, scores, dlogits;
};

kernels::LabelExtents extents(const OpCall& call) {
  const Shape& logits = (*call.graph)[call.op->inputs.front()].shape;
  return {.samples = logits[0], .classes = logits[1]};
}

struct OfClasses {
  static constexpr std::string_view kName = "class_loss";

  template <class T>
  static void run(Stream& stream, const OpCall& call, const Written& out) {
    const auto in = inputs<Forward<OfClasses>>(call);
    kernels::class_loss<T>(stream, extents(call), in.step_inputs, in.step_state,
                           {in.logits, in.labels, out.scores, out.dlogits}, out.sums);
  }
};

struct OfSquares {
  static constexpr std::string_view kName = "squared_loss";

  template <class T>
  static void run(Stream& stream, const OpCall& call, const Written& out) {
    const auto in = inputs<Forward<OfSquares>>(call);
    kernels::squared_loss<T>(stream, extents(call), in.step_inputs, in.step_state,
                             {in.logits, in.labels, out.scores, out.dlogits}, out.sums);
  }
};

template <class Loss, const Operation& kKind>
void gradient(GradientTape& tape, const Op& op) {
  const auto in = inputs<Forward<Loss>>(op);
  const auto [sums, scores] = outputs<Forward<Loss>>(op);
  const TensorId dlogits = tape.like(in.logits);
  tape.append(make_op<Backward<Loss>>(
      kKind, in, {.sums = sums, .dlogits = dlogits, .scores = scores}, op.attributes));
  tape.contribute(in.logits, dlogits);
}

int64_t logits(const Graph& graph, const Op& op) { return graph[op.inputs.front()].shape.numel(); }

template <class Loss>
constexpr Operation gradient_operation() {
  return {.name = Loss::kName, .exponentials = logits, .call = call_typed<Backward<Loss>>};
}

template <class Loss>
constexpr Operation operation(void (*gradient)(GradientTape&, const Op&)) {
  return {.name = Loss::kName,
          .exponentials = logits,
          .gradient = gradient,
          .is_loss = true,
          .call = call_typed<Forward<Loss>>};
}

}  // namespace

const Operation kClassLossGrad = gradient_operation<OfClasses>();
const Operation kSquaredLossGrad = gradient_operation<OfSquares>();
const Operation kClassLoss = operation<OfClasses>(gradient<OfClasses, kClassLossGrad>);
const Operation kSquaredLoss = operation<OfSquares>(gradient<OfSquares, kSquaredLossGrad>);

namespace {

template <class Loss>
void add_loss(GraphBuilder& out, const Operation& kind, const LabelOperands& of, Dtype dtype) {
  const Tensor &logits = out[of.logits], &labels = out[of.labels];
  require_matrix(logits);
  ZERO_REQUIRE(!out.continues(), "a chunk has no labels");
  ZERO_REQUIRE(labels.dtype == dtype && labels.shape.numel() == logits.shape[0], describe(labels),
               " has no ", name_of(dtype), " label for each row of ", describe(logits));
  const Graph& graph = out.graph();
  const TensorId sums = graph.output(kLossOutput), step_inputs = graph.step_inputs;
  const Shape shape = logits.shape;
  const TensorId scores = of.scores ? out.output(kScoresOutput, Dtype::f32, shape) : kNone;
  out.add(make_op<Forward<Loss>>(kind,
                                 {.logits = of.logits,
                                  .labels = of.labels,
                                  .step_inputs = step_inputs,
                                  .step_state = out.graph().step_state,
                                  .sums = sums},
                                 {.sums = sums, .scores = scores}));
}

}  // namespace

void class_loss(GraphBuilder& out, const LabelOperands& of) {
  add_loss<OfClasses>(out, kClassLoss, of, Dtype::i32);
}

void squared_loss(GraphBuilder& out, const LabelOperands& of) {
  ZERO_REQUIRE(out[of.logits].shape.numel() == out[of.logits].shape[0], describe(out[of.logits]),
               ": a squared loss takes one logit a sample");
  add_loss<OfSquares>(out, kSquaredLoss, of, Dtype::f32);
}

}  // namespace zero::graph
