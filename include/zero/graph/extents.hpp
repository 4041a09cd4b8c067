#pragma once
/// What a kernel is told about sizes, read off an op's tensors: once, for the scratch that a plan
/// sets aside and for the call itself. The op must be of the kind named or its gradient.

#include "zero/graph/graph.hpp"
#include "zero/kernels/attention.hpp"
#include "zero/kernels/cached_attention.hpp"
#include "zero/kernels/classifier.hpp"
#include "zero/kernels/dropout.hpp"
#include "zero/kernels/embedding.hpp"
#include "zero/kernels/layernorm.hpp"
#include "zero/kernels/product.hpp"
#include "zero/kernels/resize_heads.hpp"
#include "zero/kernels/row_product.hpp"

namespace zero::graph {

/// The dtype whose kernel an op wants: that of its first floating-point input.
Dtype compute_dtype(const Graph& graph, const Op& op);

kernels::EmbeddingExtents embedding_extents(const Graph& graph, const Op& op);
kernels::NormExtents layernorm_extents(const Graph& graph, const Op& op);
kernels::AttentionExtents attention_extents(const Graph& graph, const Op& op);
kernels::HeadWidths head_widths(const Graph& graph, const Op& op);
kernels::CachedAttentionExtents cached_attention_extents(const Graph& graph, const Op& op);
kernels::RowProductExtents row_product_extents(const Graph& graph, const Op& op);
kernels::ClassifierExtents classifier_extents(const Graph& graph, const Op& op);
kernels::DropoutExtents dropout_extents(const Graph& graph, const Op& op);
/// Of linear, linear_input_grad, linear_weight_grad and what fuse() makes of them; operands in the
/// order product() wants: x weight, dy weight, x dy.
kernels::ProductSpec product_spec(const Graph& graph, const Op& op);

/// Scratch of linear_parameter_grad: sums over rows of dy, and from byte `rounded` on, in 16 bits,
/// the gradient of a weight as it is where products do not add it to an fp32 sum themselves.
struct ParameterScratch {
  int64_t rounded, bytes;
};
ParameterScratch parameter_scratch(const Graph& graph, const Op& op);

}  // namespace zero::graph
