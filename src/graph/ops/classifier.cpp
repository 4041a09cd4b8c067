#include "zero/kernels/classifier.hpp"

#include "src/graph/ops/kinds.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/graph/token_scores.hpp"
#include "zero/kernels/gradients.hpp"

namespace zero::graph {
namespace {

template <class S>
struct ClassifierIn {
  S x, table, targets, step_inputs, step_state;
  S logit_bias;  ///< may be absent
  S sums;        ///< updated
};

struct Classifier {
  template <class S>
  using In = ClassifierIn<S>;
  template <class S>
  struct Out {
    S sums;
    S scores = kAbsent<S>;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

struct ClassifierGrad {
  template <class S>
  using In = ClassifierIn<S>;
  template <class S>
  struct Out {
    S sums, dx, dtable;
    S dlogit_bias = kAbsent<S>;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

/// The operands if the table is not trained.
struct ClassifierInputGrad {
  template <class S>
  using In = ClassifierIn<S>;
  template <class S>
  struct Out {
    S sums, dx;
    S dlogit_bias = kAbsent<S>;
  };
  template <class T>
  static void call(Stream& stream, const OpCall& call);
};

kernels::ClassifierExtents extents(const Graph& graph, const Op& op) {
  const auto in = inputs<Classifier>(op);
  const auto attributes = op.attributes.as<ClassifierAttributes>();
  const Shape& x = graph[in.x].shape;
  return {.rows = x[0],
          .width = x[1],
          .vocabulary = attributes.vocabulary,
          .padded_vocabulary = graph[in.table].shape[0],
          .chunk_rows = attributes.chunk_rows};
}

/// True if the op computes the gradient of a bias, which otherwise is zero.
bool trains_bias(const Op& op) { return op.attributes.as<ClassifierAttributes>().trains_bias != 0; }

/// The arrays of gradients and scores; null: not computed.
template <class T>
struct Gradients {
  T* dx = nullptr;
  T* dtable = nullptr;
  T* dlogit_bias = nullptr;
  kernels::TokenScore* scores = nullptr;
};

template <class T>
void run(Stream& stream, const OpCall& call, Address sums, const Gradients<T>& gradients) {
  const auto in = inputs<Classifier>(call);
  const auto attributes = call.op->attributes.as<ClassifierAttributes>();
  kernels::classifier<T>(stream, extents(*call.graph, *call.op), in.step_inputs, in.step_state,
                         {.x = in.x,
                          .table = in.table,
                          .targets = in.targets,
                          .dx = gradients.dx,
                          .dtable = gradients.dtable,
                          .scratch = call.scratch,
                          .logit_bias = in.logit_bias,
                          .dlogit_bias = trains_bias(*call.op) ? gradients.dlogit_bias : nullptr,
                          .scores = gradients.scores},
                         sums,
                         {.logit_scale = float(attributes.logit_scale),
                          .label_smoothing = float(attributes.label_smoothing),
                          .cap = float(attributes.cap),
                          .skips = attributes.skips != 0});
}

template <class T>
void Classifier::call(Stream& stream, const OpCall& call) {
  const auto out = outputs<Classifier>(call);
  run<T>(stream, call, out.sums, {.scores = out.scores});
}

/// Clears the gradient of a bias, which may be absent, unless it is trained.
void clear_bias(Stream& stream, const OpCall& call, TensorId zeros, Address at) {
  if (zeros != kNone && !trains_bias(*call.op))
    kernels::clear_bytes(stream, (*call.graph)[zeros].bytes(), at);
}

template <class T>
void ClassifierGrad::call(Stream& stream, const OpCall& call) {
  const auto out = outputs<ClassifierGrad>(call);
  run<T>(stream, call, out.sums,
         {.dx = out.dx, .dtable = out.dtable, .dlogit_bias = out.dlogit_bias});
  clear_bias(stream, call, outputs<ClassifierGrad>(*call.op).dlogit_bias, out.dlogit_bias);
}

template <class T>
void ClassifierInputGrad::call(Stream& stream, const OpCall& call) {
  const auto out = outputs<ClassifierInputGrad>(call);
  run<T>(stream, call, out.sums, {.dx = out.dx, .dlogit_bias = out.dlogit_bias});
  clear_bias(stream, call, outputs<ClassifierInputGrad>(*call.op).dlogit_bias, out.dlogit_bias);
}

/// Makes all gradients in the pass that computes the loss, because logits are never kept. A
/// logit_bias that is a parameter is saved with the others. It keeps its values, because its
/// gradient is zero and it does not decay.
void gradient(GradientTape& tape, const Op& op) {
  const auto in = inputs<Classifier>(op);
  const auto [sums, scores] = outputs<Classifier>(op);
  ZERO_REQUIRE(scores == kNone,
               "a graph with token scores is trained: evaluations alone have them");
  const TensorId dx = tape.like(in.x);
  const bool table = tape.wants(in.table);
  const TensorId dtable = table ? tape.weight_gradient(in.table) : kNone;
  const bool bias = in.logit_bias != kNone && tape.wants(in.logit_bias) &&
                    tape.graph()[in.logit_bias].role == Role::parameter;
  const TensorId dlogit_bias = bias ? tape.weight_gradient(in.logit_bias) : kNone;
  tape.append(table ? make_op<ClassifierGrad>(
                          kClassifierGrad, in,
                          {.sums = sums, .dx = dx, .dtable = dtable, .dlogit_bias = dlogit_bias},
                          op.attributes)
                    : make_op<ClassifierInputGrad>(
                          kClassifierInputGrad, in,
                          {.sums = sums, .dx = dx, .dlogit_bias = dlogit_bias}, op.attributes));
  tape.contribute(in.x, dx);
}

/// The gradients that the kernel makes beside the loss.
struct Made {
  bool dx = false, dtable = false;
};

template <Made kMade>
double flops(const Graph& graph, const Op& op) {
  const kernels::ClassifierExtents of = extents(graph, op);
  const double products = 1 + int(kMade.dx) + int(kMade.dtable);
  return products * 2.0 * double(of.rows) * double(of.width) * double(of.padded_vocabulary);
}

int64_t logits(const Graph& graph, const Op& op) {
  const kernels::ClassifierExtents of = extents(graph, op);
  return of.rows * of.padded_vocabulary;
}

template <Made kMade>
int64_t scratch(const Graph& graph, const Op& op, int) {
  return kernels::classifier_scratch_bytes(extents(graph, op), compute_dtype(graph, op),
                                           kMade.dtable, kMade.dx && trains_bias(op));
}

template <Made kMade>
void prepare(Stream& stream, const OpCall& call) {
  kernels::prepare_classifier(stream, extents(*call.graph, *call.op),
                              compute_dtype(*call.graph, *call.op), kMade.dx, kMade.dtable);
}

template <class Kind, Made kMade>
constexpr Operation operation(void (*gradient)(GradientTape&, const Op&) = nullptr) {
  return {.name = "classifier",
          .flops = flops<kMade>,
          .exponentials = logits,
          .scratch_bytes = scratch<kMade>,
          .gradient = gradient,
          .is_loss = gradient != nullptr,
          .call = call_typed<Kind>,
          .prepare = prepare<kMade>};
}

}  // namespace

const Operation kClassifier = operation<Classifier, Made{}>(gradient);
const Operation kClassifierGrad = operation<ClassifierGrad, Made{.dx = true, .dtable = true}>();
const Operation kClassifierInputGrad = operation<ClassifierInputGrad, Made{.dx = true}>();

void classifier(GraphBuilder& out, TensorId x, TensorId table, TensorId targets,
                const ClassifierOptions& options) {
  require_head(out[x], out[table], options.vocabulary);
  ZERO_REQUIRE(options.bias == kNone || options.logit_bias == kNone,
               "a classifier with a bias and a logit_bias: give one");
  ZERO_REQUIRE(options.bias == kNone || options.logit_scale == 1, describe(out[options.bias]),
               " is trained beside a logit_scale of ", options.logit_scale, ": only 1 works");
  const bool trains = options.bias != kNone;
  const TensorId bias = trains ? options.bias : options.logit_bias;
  require_logit_bias(out, bias, table);
  ZERO_REQUIRE(!out.continues(), "a chunk has no targets: use logits()");
  ZERO_REQUIRE(out[targets].shape.numel() == out[x].shape[0], describe(out[targets]),
               " has no class for each row of ", describe(out[x]));
  ZERO_REQUIRE(options.cap >= 0, "a cap on logits of ", options.cap, ": at least 0, which is none");
  ZERO_REQUIRE(options.chunk_rows > 0, "chunks of ", options.chunk_rows, " rows: at least 1");
  const Graph& graph = out.graph();
  const TensorId sums = graph.output(kLossOutput);
  out.add(make_op<Classifier>(kClassifier,
                              {.x = x,
                               .table = table,
                               .targets = targets,
                               .step_inputs = graph.step_inputs,
                               .step_state = graph.step_state,
                               .logit_bias = bias,
                               .sums = sums},
                              {.sums = sums},
                              ClassifierAttributes{.vocabulary = options.vocabulary,
                                                   .chunk_rows = options.chunk_rows,
                                                   .logit_scale = options.logit_scale,
                                                   .label_smoothing = options.label_smoothing,
                                                   .trains_bias = trains,
                                                   .cap = options.cap,
                                                   .skips = options.skips}));
}

void classifier(GraphBuilder& out, TensorId x, TensorId table, TensorId targets, int64_t vocabulary,
                int64_t chunk_rows) {
  classifier(out, x, table, targets, {.vocabulary = vocabulary, .chunk_rows = chunk_rows});
}

Graph score_tokens(Graph forward) {
  const auto found = std::ranges::find(forward.ops, &kClassifier, &Op::kind);
  ZERO_REQUIRE(found != forward.ops.end(), "token scores of a graph without a classifier");
  const int64_t rows = extents(forward, *found).rows;
  const TensorId scores = TensorId(forward.tensors.size());
  forward.tensors.push_back({.name = kTokenScoresOutput,
                             .dtype = Dtype::f32,
                             .shape = {rows, int64_t(sizeof(kernels::TokenScore) / sizeof(float))},
                             .role = Role::output});
  forward.outputs.push_back({.name = kTokenScoresOutput, .tensor = scores});
  found->outputs.push_back(scores);
  return forward;
}

}  // namespace zero::graph
