#include "zero/run/op_call.hpp"

#include <array>

#include "zero/graph/extents.hpp"
#include "zero/graph/op_info.hpp"
#include "zero/kernels/fused_product.hpp"
#include "zero/kernels/gelu.hpp"
#include "zero/kernels/gradients.hpp"

namespace zero::run {
namespace {

using graph::OpKind;

template <class T>
const T* in(const OpCall& call, size_t i) {
  return static_cast<const T*>(call.operands[i]);
}

template <class T>
T* out(const OpCall& call, size_t i) {
  return static_cast<T*>(call.operands[call.op->inputs.size() + i]);
}

const kernels::StepInputs* step_inputs(const OpCall& call, size_t i) {
  return in<kernels::StepInputs>(call, i);
}

kernels::DropoutSite dropout_site(const OpCall& call) {
  const graph::Attributes& attributes = call.op->attributes;
  return {.probability = attributes.probability,
          .site = attributes.site,
          .sample_offset = call.sample_offset};
}

const Shape& input_shape(const OpCall& call, size_t i) {
  return (*call.graph)[call.op->inputs[i]].shape;
}

template <class T>
void embedding(Stream& stream, const OpCall& call) {
  kernels::embedding<T>(stream, embedding_extents(*call.graph, *call.op), in<int32_t>(call, 0),
                        in<T>(call, 1), in<T>(call, 2), out<T>(call, 0));
}

template <class T>
void embedding_grad(Stream& stream, const OpCall& call) {
  const kernels::EmbeddingExtents extents = embedding_extents(*call.graph, *call.op);
  T* dpositions = out<T>(call, 1);
  kernels::embedding_backward<T>(stream, extents,
                                 {.tokens = in<int32_t>(call, 0),
                                  .dx = in<T>(call, 1),
                                  .dtoken_table = out<T>(call, 0),
                                  .dposition_table = dpositions,
                                  .scratch = static_cast<int32_t*>(call.scratch)});
  // Positions behind the last token of a sample were not used.
  const int64_t written = extents.length * extents.width;
  const int64_t numel = (*call.graph)[call.op->outputs[1]].shape.numel();
  if (numel > written) {
    kernels::clear_bytes(stream, (numel - written) * int64_t(sizeof(T)), dpositions + written);
  }
}

template <class T>
void layernorm(Stream& stream, const OpCall& call) {
  kernels::layernorm<T>(stream, layernorm_extents(*call.graph, *call.op),
                        call.op->attributes.epsilon,
                        {.x = in<T>(call, 0),
                         .weight = in<T>(call, 1),
                         .bias = in<T>(call, 2),
                         .y = out<T>(call, 0),
                         .mean = out<float>(call, 1),
                         .rstd = out<float>(call, 2)});
}

template <class T>
void layernorm_grad(Stream& stream, const OpCall& call) {
  const bool adds_columns = call.op->outputs.size() > 3;
  kernels::layernorm_backward<T>(stream, layernorm_extents(*call.graph, *call.op),
                                 {.dy = in<T>(call, 0),
                                  .x = in<T>(call, 1),
                                  .weight = in<T>(call, 2),
                                  .mean = in<float>(call, 3),
                                  .rstd = in<float>(call, 4),
                                  .add = in<T>(call, 5),
                                  .dx = out<T>(call, 0),
                                  .dweight = out<T>(call, 1),
                                  .dbias = out<T>(call, 2),
                                  .scratch = static_cast<float*>(call.scratch),
                                  .dx_sum = adds_columns ? out<T>(call, 3) : nullptr});
}

template <class T>
void linear(Stream& stream, const OpCall& call) {
  kernels::product<T, T>(stream, product_spec(*call.graph, *call.op), in<T>(call, 0),
                         in<T>(call, 1), in<T>(call, 2), out<T>(call, 0));
}

/// linear_input_grad and linear_weight_grad.
template <class T>
void linear_grad(Stream& stream, const OpCall& call) {
  kernels::ProductSpec spec = product_spec(*call.graph, *call.op);
  if (call.sums) {
    spec.accumulate = call.add;
    return kernels::product<T, float>(stream, spec, in<T>(call, 0), in<T>(call, 1), nullptr,
                                      out<float>(call, 0));
  }
  kernels::product<T, T>(stream, spec, in<T>(call, 0), in<T>(call, 1), nullptr, out<T>(call, 0));
}

template <class T>
void linear_bias_grad(Stream& stream, const OpCall& call) {
  const Shape& dy = input_shape(call, 0);
  kernels::column_sum<T>(stream, dy[0], dy[1], in<T>(call, 0), out<T>(call, 0),
                         static_cast<float*>(call.scratch));
}

template <class T>
void gelu(Stream& stream, const OpCall& call) {
  kernels::gelu<T>(stream, input_shape(call, 0).numel(), in<T>(call, 0), out<T>(call, 0));
}

template <class T>
void gelu_grad(Stream& stream, const OpCall& call) {
  kernels::gelu_backward<T>(stream, input_shape(call, 0).numel(), in<T>(call, 0), in<T>(call, 1),
                            out<T>(call, 0));
}

template <class T>
void linear_gelu(Stream& stream, const OpCall& call) {
  kernels::product_gelu<T>(stream, product_spec(*call.graph, *call.op),
                           {.a = in<T>(call, 0),
                            .b = in<T>(call, 1),
                            .bias = in<T>(call, 2),
                            .h = out<T>(call, 0),
                            .y = out<T>(call, 1)});
}

template <class T>
void linear_add(Stream& stream, const OpCall& call) {
  kernels::product_add<T>(stream, product_spec(*call.graph, *call.op),
                          {.a = in<T>(call, 0),
                           .b = in<T>(call, 1),
                           .bias = in<T>(call, 2),
                           .residual = in<T>(call, 3),
                           .y = out<T>(call, 0)});
}

template <class T>
void linear_input_gelu_grad(Stream& stream, const OpCall& call) {
  const bool sums = call.op->outputs.size() > 1;
  kernels::product_gelu_backward<T>(stream, product_spec(*call.graph, *call.op),
                                    {.a = in<T>(call, 0),
                                     .b = in<T>(call, 1),
                                     .h = in<T>(call, 2),
                                     .dh = out<T>(call, 0),
                                     .sum = sums ? out<T>(call, 1) : nullptr,
                                     .scratch = static_cast<float*>(call.scratch)});
}

/// No library adds one of its results and writes the other in another type.
template <class T>
void linear_parameter_grad(Stream& stream, const OpCall& call) {
  if (call.sums) {
    kernels::ProductSpec spec = product_spec(*call.graph, *call.op);
    spec.accumulate = call.add;
    const graph::ParameterScratch at = graph::parameter_scratch(*call.graph, *call.op);
    return kernels::product_into_sum<T>(
        stream, spec,
        {.a = in<T>(call, 0),
         .b = in<T>(call, 1),
         .c = out<float>(call, 0),
         .sum = out<T>(call, 1),
         .scratch = static_cast<float*>(call.scratch),
         .rounded = at.rounded < at.bytes
                        ? reinterpret_cast<T*>(static_cast<std::byte*>(call.scratch) + at.rounded)
                        : nullptr});
  }
  kernels::product_column_sum<T>(stream, product_spec(*call.graph, *call.op),
                                 {.a = in<T>(call, 0),
                                  .b = in<T>(call, 1),
                                  .c = out<T>(call, 0),
                                  .sum = out<T>(call, 1),
                                  .scratch = static_cast<float*>(call.scratch)});
}

template <class T>
void attention(Stream& stream, const OpCall& call) {
  kernels::attention<T>(stream, attention_extents(*call.graph, *call.op), dropout_site(call),
                        step_inputs(call, 1),
                        {.qkv = in<T>(call, 0),
                         .y = out<T>(call, 0),
                         .logsumexp = out<float>(call, 1),
                         .scratch = call.scratch});
}

template <class T>
void attention_grad(Stream& stream, const OpCall& call) {
  kernels::attention_backward<T>(stream, attention_extents(*call.graph, *call.op),
                                 dropout_site(call), step_inputs(call, 4),
                                 {.dy = in<T>(call, 0),
                                  .y = in<T>(call, 1),
                                  .qkv = in<T>(call, 2),
                                  .logsumexp = in<float>(call, 3),
                                  .dqkv = out<T>(call, 0),
                                  .scratch = call.scratch});
}

template <class T>
void resize_heads(Stream& stream, const OpCall& call) {
  kernels::resize_heads<T>(stream, head_widths(*call.graph, *call.op), in<T>(call, 0),
                           out<T>(call, 0));
}

template <class T>
void dropout_add(Stream& stream, const OpCall& call) {
  kernels::dropout_add<T>(stream, dropout_site(call), dropout_extents(*call.graph, *call.op),
                          step_inputs(call, 2), in<T>(call, 0), in<T>(call, 1), out<T>(call, 0));
}

/// Dropout that drops nothing is an addition.
template <class T>
void add(Stream& stream, const OpCall& call) {
  const kernels::DropoutExtents whole{.samples = 1,
                                      .numel_per_sample = input_shape(call, 0).numel()};
  kernels::dropout_add<T>(stream, {}, whole, nullptr, in<T>(call, 0), in<T>(call, 1),
                          out<T>(call, 0));
}

const kernels::DecodeInputs* decode_inputs(const OpCall& call, size_t i) {
  return in<kernels::DecodeInputs>(call, i);
}

template <class T>
void embedding_at(Stream& stream, const OpCall& call) {
  kernels::embedding_at<T>(stream, embedding_extents(*call.graph, *call.op), decode_inputs(call, 3),
                           in<int32_t>(call, 0), in<T>(call, 1), in<T>(call, 2), out<T>(call, 0));
}

template <class T>
void row_linear(Stream& stream, const OpCall& call) {
  kernels::row_product<T>(stream, row_product_extents(*call.graph, *call.op),
                          {.x = in<T>(call, 0),
                           .weight = in<T>(call, 1),
                           .bias = in<T>(call, 2),
                           .y = out<T>(call, 0),
                           .scratch = static_cast<float*>(call.scratch)});
}

template <class T>
void cached_attention(Stream& stream, const OpCall& call) {
  kernels::cached_attention<T>(stream, cached_attention_extents(*call.graph, *call.op),
                               decode_inputs(call, 2),
                               {.qkv = in<T>(call, 0),
                                .cache = out<T>(call, 1),
                                .y = out<T>(call, 0),
                                .scratch = call.scratch});
}

template <class T>
void logits(Stream& stream, const OpCall& call) {
  const int64_t width = input_shape(call, 1)[1];
  kernels::table_product<T>(
      stream, call.op->attributes.vocabulary, width, decode_inputs(call, 2),
      {.x = in<T>(call, 0), .table = in<T>(call, 1), .y = out<float>(call, 0)});
}

template <class T>
void classifier(Stream& stream, const OpCall& call) {
  const bool gradient = call.op->outputs.size() == 3;
  kernels::classifier<T>(stream, classifier_extents(*call.graph, *call.op), step_inputs(call, 3),
                         in<kernels::StepState>(call, 4),
                         {.x = in<T>(call, 0),
                          .table = in<T>(call, 1),
                          .targets = in<int32_t>(call, 2),
                          .dx = gradient ? out<T>(call, 1) : nullptr,
                          .dtable = gradient ? out<T>(call, 2) : nullptr,
                          .scratch = call.scratch},
                         out<kernels::StepSums>(call, 0));
}

void prepare_linear(Stream& stream, const OpCall& call, Dtype dtype) {
  kernels::ProductSpec spec = product_spec(*call.graph, *call.op);
  spec.accumulate = call.sums && call.add;
  const bool bias = call.op->kind == OpKind::linear && call.operands[2] != nullptr;
  kernels::prepare_product(stream, spec, dtype, call.sums ? Dtype::f32 : dtype, bias);
}

using Function = void (*)(Stream&, const OpCall&);

template <class T>
constexpr std::array<Function, size_t(OpKind::count_)> functions() {
  std::array<Function, size_t(OpKind::count_)> table{};
  table[size_t(OpKind::embedding)] = embedding<T>;
  table[size_t(OpKind::embedding_grad)] = embedding_grad<T>;
  table[size_t(OpKind::layernorm)] = layernorm<T>;
  table[size_t(OpKind::layernorm_grad)] = layernorm_grad<T>;
  table[size_t(OpKind::linear)] = linear<T>;
  table[size_t(OpKind::linear_input_grad)] = linear_grad<T>;
  table[size_t(OpKind::linear_weight_grad)] = linear_grad<T>;
  table[size_t(OpKind::linear_bias_grad)] = linear_bias_grad<T>;
  table[size_t(OpKind::gelu)] = gelu<T>;
  table[size_t(OpKind::gelu_grad)] = gelu_grad<T>;
  table[size_t(OpKind::attention)] = attention<T>;
  table[size_t(OpKind::attention_grad)] = attention_grad<T>;
  table[size_t(OpKind::dropout_add)] = dropout_add<T>;
  table[size_t(OpKind::add)] = add<T>;
  table[size_t(OpKind::classifier)] = classifier<T>;
  table[size_t(OpKind::resize_heads)] = resize_heads<T>;
  table[size_t(OpKind::embedding_at)] = embedding_at<T>;
  table[size_t(OpKind::row_linear)] = row_linear<T>;
  table[size_t(OpKind::cached_attention)] = cached_attention<T>;
  table[size_t(OpKind::logits)] = logits<T>;
  table[size_t(OpKind::linear_gelu)] = linear_gelu<T>;
  table[size_t(OpKind::linear_add)] = linear_add<T>;
  table[size_t(OpKind::linear_input_gelu_grad)] = linear_input_gelu_grad<T>;
  table[size_t(OpKind::linear_parameter_grad)] = linear_parameter_grad<T>;
  return table;
}

template <class T>
constexpr std::array<Function, size_t(OpKind::count_)> kFunctions = functions<T>();

Function function(OpKind kind, Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return kFunctions<float>[size_t(kind)];
    case Dtype::bf16:
      return kFunctions<bf16>[size_t(kind)];
    default:
      return kFunctions<f16>[size_t(kind)];
  }
}

}  // namespace

void call(Stream& stream, const OpCall& call) {
  const size_t operands = call.op->inputs.size() + call.op->outputs.size();
  ZERO_REQUIRE(call.operands.size() == operands, graph::info(call.op->kind).name, " takes ",
               operands, " operands, not ", call.operands.size());
  const OpKind kind = call.op->kind;
  ZERO_REQUIRE(
      !call.sums || kind == OpKind::linear_weight_grad || kind == OpKind::linear_parameter_grad,
      graph::info(kind).name, " cannot add to a sum");
  function(kind, compute_dtype(*call.graph, *call.op))(stream, call);
}

void prepare(Stream& stream, const OpCall& call) {
  const graph::Graph& graph = *call.graph;
  const graph::Op& op = *call.op;
  const Dtype dtype = compute_dtype(graph, op);
  switch (op.kind) {
    case OpKind::linear:
    case OpKind::linear_input_grad:
    case OpKind::linear_weight_grad:
      return prepare_linear(stream, call, dtype);
    case OpKind::attention:
    case OpKind::attention_grad:
      return kernels::prepare_attention(attention_extents(graph, op), dtype,
                                        op.kind == OpKind::attention_grad);
    case OpKind::classifier:
      return kernels::prepare_classifier(stream, classifier_extents(graph, op), dtype,
                                         op.outputs.size() == 3);
    default:
      return;
  }
}

}  // namespace zero::run
