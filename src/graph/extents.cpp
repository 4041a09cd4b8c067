#include "zero/graph/extents.hpp"

#include "zero/base/align.hpp"

namespace zero::graph {

Dtype compute_dtype(const Graph& graph, const Op& op) {
  for (TensorId input : op.inputs) {
    if (input == kNone) continue;
    const Dtype dtype = graph[input].dtype;
    if (dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16) return dtype;
  }
  ZERO_REQUIRE(false, "an op of kind ", int(op.kind), " reads no floating-point tensor");
  return Dtype::f32;
}

kernels::EmbeddingExtents embedding_extents(const Graph& graph, const Op& op) {
  const size_t table = op.kind == OpKind::embedding_grad ? 2 : 1;
  const Shape& shape = graph[op.inputs[table]].shape;
  return {.samples = op.attributes.samples,
          .length = op.attributes.length,
          .width = shape[1],
          .vocabulary = shape[0]};
}

kernels::NormExtents layernorm_extents(const Graph& graph, const Op& op) {
  const Shape& shape = graph[op.inputs[0]].shape;
  return {.rows = shape[0], .width = shape[1]};
}

kernels::AttentionExtents attention_extents(const Graph& graph, const Op& op) {
  const size_t qkv = op.kind == OpKind::attention ? 0 : 2;
  const int64_t width = graph[op.inputs[qkv]].shape[1] / 3;
  return {.samples = op.attributes.samples,
          .length = op.attributes.length,
          .heads = op.attributes.heads,
          .head_width = width / op.attributes.heads,
          .real_width = op.attributes.head_width};
}

kernels::HeadWidths head_widths(const Graph& graph, const Op& op) {
  const int64_t heads = op.attributes.heads;
  return {.heads = heads,
          .from = graph[op.inputs[0]].shape.numel() / heads,
          .to = graph[op.outputs[0]].shape.numel() / heads};
}

kernels::CachedAttentionExtents cached_attention_extents(const Graph& graph, const Op& op) {
  const Shape& qkv = graph[op.inputs[0]].shape;
  return {.rows = qkv[0],
          .heads = op.attributes.heads,
          .head_width = qkv[1] / 3 / op.attributes.heads,
          .columns = graph[op.inputs[1]].shape[1]};
}

kernels::RowProductExtents row_product_extents(const Graph& graph, const Op& op) {
  const Shape& weight = graph[op.inputs[1]].shape;
  return {.rows = graph[op.inputs[0]].shape[0], .in = weight[0], .out = weight[1]};
}

kernels::ClassifierExtents classifier_extents(const Graph& graph, const Op& op) {
  const Shape& x = graph[op.inputs[0]].shape;
  return {.rows = x[0],
          .width = x[1],
          .vocabulary = op.attributes.vocabulary,
          .padded_vocabulary = graph[op.inputs[1]].shape[0],
          .chunk_rows = op.attributes.chunk_rows};
}

kernels::DropoutExtents dropout_extents(const Graph& graph, const Op& op) {
  return {.samples = op.attributes.samples,
          .numel_per_sample = graph[op.inputs[0]].shape.numel() / op.attributes.samples};
}

kernels::ProductSpec product_spec(const Graph& graph, const Op& op) {
  const Shape& a = graph[op.inputs[0]].shape;
  const Shape& b = graph[op.inputs[1]].shape;
  switch (op.kind) {
    case OpKind::linear:
    case OpKind::linear_gelu:
    case OpKind::linear_add:
      return {.m = a[0], .n = b[1], .k = a[1]};
    case OpKind::linear_input_grad:
    case OpKind::linear_input_gelu_grad:
      return {.m = a[0], .n = b[0], .k = a[1], .transpose_b = true};
    case OpKind::linear_weight_grad:
    case OpKind::linear_parameter_grad:
      return {.m = a[1], .n = b[1], .k = a[0], .transpose_a = true};
    default:
      ZERO_REQUIRE(false, "an op of kind ", int(op.kind), " is no product");
      return {};
  }
}

ParameterScratch parameter_scratch(const Graph& graph, const Op& op) {
  const Shape& dy = graph[op.inputs[1]].shape;
  const Tensor& weight = graph[op.outputs[0]];
  const int64_t sums = kernels::column_sum_scratch_numel(dy[0], dy[1]) * int64_t(sizeof(float));
  const int64_t rounded = round_up(sums, kExtentAlignBytes);
  if (weight.dtype == Dtype::f32) return {.rounded = sums, .bytes = sums};
  return {.rounded = rounded, .bytes = rounded + weight.bytes()};
}

}  // namespace zero::graph
