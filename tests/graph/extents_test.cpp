// Ranks: 1

#include "zero/graph/extents.hpp"

#include <gtest/gtest.h>

#include "tests/support/tiny_graph.hpp"
#include "zero/graph/differentiate.hpp"

namespace zero::graph {
namespace {

struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  bool operator==(const Product&) const = default;
};

Product product(const Graph& graph, OpKind kind) {
  const kernels::ProductSpec spec = product_spec(graph, first(graph, kind));
  return {spec.m, spec.n, spec.k, spec.transpose_a, spec.transpose_b};
}

TEST(Extents, OfProductsFollowTheirOperands) {
  // Forward: `up`, 6 x 4 times 4 x 12. The gradient of `up` is the only one 12 wide.
  Graph graph = differentiate(tiny_forward(1, 0));
  EXPECT_EQ(product(graph, OpKind::linear), (Product{6, 12, 4, false, false}));
  std::erase_if(graph.ops, [&](const Op& op) {
    return op.outputs[0] < 0 ||
           (op.kind == OpKind::linear_weight_grad && graph[op.outputs[0]].shape[1] != 12) ||
           (op.kind == OpKind::linear_input_grad && graph[op.inputs[0]].shape[1] != 12);
  });
  EXPECT_EQ(product(graph, OpKind::linear_weight_grad), (Product{4, 12, 6, true, false}));
  EXPECT_EQ(product(graph, OpKind::linear_input_grad), (Product{6, 4, 12, false, true}));
  EXPECT_THROW(product(graph, OpKind::gelu), Error);
}

TEST(Extents, AreTheSameForAnOpAndItsGradient) {
  const Graph graph = differentiate(tiny_forward(1, 0));
  for (OpKind kind : {OpKind::embedding, OpKind::embedding_grad}) {
    const auto extents = embedding_extents(graph, first(graph, kind));
    EXPECT_EQ(extents.samples, 2);
    EXPECT_EQ(extents.length, 3);
    EXPECT_EQ(extents.width, 4);
    EXPECT_EQ(extents.vocabulary, 8);
  }
  for (OpKind kind : {OpKind::attention, OpKind::attention_grad}) {
    const auto extents = attention_extents(graph, first(graph, kind));
    EXPECT_EQ(extents.samples, 2);
    EXPECT_EQ(extents.length, 3);
    EXPECT_EQ(extents.heads, 2);
    EXPECT_EQ(extents.head_width, 2);
  }
  for (OpKind kind : {OpKind::layernorm, OpKind::layernorm_grad}) {
    EXPECT_EQ(layernorm_extents(graph, first(graph, kind)).rows, 6);
    EXPECT_EQ(layernorm_extents(graph, first(graph, kind)).width, 4);
  }
}

TEST(Extents, OfTheClassifierKeepRealAndPaddedClassesApart) {
  const Graph graph = tiny_forward(1, 0);
  const auto extents = classifier_extents(graph, first(graph, OpKind::classifier));
  EXPECT_EQ(extents.vocabulary, 5);
  EXPECT_EQ(extents.padded_vocabulary, 8);
  EXPECT_EQ(extents.chunk_rows, 6);
}

TEST(Extents, OfDropoutCountTheElementsOfASample) {
  const Graph graph = tiny_forward(1, 0);
  const auto extents = dropout_extents(graph, first(graph, OpKind::dropout_add));
  EXPECT_EQ(extents.samples, 2);
  EXPECT_EQ(extents.numel_per_sample, 12);
}

TEST(ComputeDtype, IsThatOfTheFirstInputOfFloatingPoint) {
  const Graph graph = differentiate(tiny_forward(1, 0, Dtype::bf16));
  for (const Op& op : graph.ops) {
    EXPECT_EQ(compute_dtype(graph, op), Dtype::bf16) << info(op.kind).name;
  }
}

}  // namespace
}  // namespace zero::graph
