// Ranks: 1

#include "zero/graph/op_info.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/tiny_graph.hpp"
#include "zero/graph/differentiate.hpp"
#include "zero/graph/extents.hpp"

namespace zero::graph {
namespace {

double flops(const Graph& graph, OpKind kind) {
  const Op& op = first(graph, kind);
  return info(kind).flops(graph, op);
}

int64_t traffic(const Graph& graph, OpKind kind) {
  return traffic_bytes(graph, first(graph, kind));
}

TEST(OpInfo, HasARowOfItsOwnForEveryKind) {
  std::set<std::string_view> names;
  for (int kind = 0; kind < int(OpKind::count_); ++kind) names.insert(info(OpKind(kind)).name);
  EXPECT_EQ(names.size(), size_t(OpKind::count_));
  EXPECT_THROW(info(OpKind::count_), Error);
}

TEST(OpInfo, CountsTheOperationsOfProducts) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  EXPECT_EQ(flops(graph, OpKind::linear), 2 * 6 * 4 * 12);
  // The first gradients are those of the last product, 6 x 4 times 4 x 4.
  EXPECT_EQ(flops(graph, OpKind::linear_input_grad), 2 * 6 * 4 * 4);
  EXPECT_EQ(flops(graph, OpKind::linear_weight_grad), 2 * 6 * 4 * 4);
  EXPECT_EQ(flops(graph, OpKind::gelu), 0);
}

TEST(OpInfo, CountsCausalAttentionByHalf) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  // One product: 2 samples, 2 heads of width 2, 3 x 3 scores, 2 operations, half of it masked.
  const double product = 2 * 2 * 2 * 3 * 3 * 2 / 2.0;
  EXPECT_EQ(flops(graph, OpKind::attention), 2 * product);
  EXPECT_EQ(flops(graph, OpKind::attention_grad), 5 * product);
}

TEST(OpInfo, CountsThreeProductsInADifferentiatedClassifier) {
  const Graph forward = tiny_forward(1, 0);
  EXPECT_EQ(flops(forward, OpKind::classifier), 2 * 6 * 4 * 8);
  EXPECT_EQ(flops(differentiate(forward), OpKind::classifier), 3 * 2 * 6 * 4 * 8);
}

TEST(OpInfo, AsksForTheScratchThatTheKernelsWant) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  const Op& norm = first(graph, OpKind::layernorm_grad);
  EXPECT_EQ(info(norm.kind).scratch_bytes(graph, norm, 2),
            4 * kernels::layernorm_scratch_numel({.rows = 6, .width = 4}, false));
  const Op& bias = first(graph, OpKind::linear_bias_grad);
  EXPECT_EQ(info(bias.kind).scratch_bytes(graph, bias, 2),
            4 * kernels::column_sum_scratch_numel(6, 4));
  const Op& classifier = first(graph, OpKind::classifier);
  EXPECT_EQ(
      info(classifier.kind).scratch_bytes(graph, classifier, 2),
      kernels::classifier_scratch_bytes(classifier_extents(graph, classifier), Dtype::f32, true));
  const Op& gelu = first(graph, OpKind::gelu);
  EXPECT_EQ(info(gelu.kind).scratch_bytes(graph, gelu, 2), 0);
}

TEST(OpInfo, CountsTheBytesThatAnOpReadsAndWrites) {
  const Graph graph = differentiate(tiny_forward(1, 0.5f));
  EXPECT_EQ(traffic(graph, OpKind::gelu), 2 * 6 * 4 * 4);
  EXPECT_EQ(traffic(graph, OpKind::linear), 4 * (6 * 4 + 4 * 12 + 12 + 6 * 12));
}

TEST(OpInfo, CountsOfATableOnlyTheRowsThatAreLookedUp) {
  // 6 tokens of 4 bytes; each table at most 6 rows of 16 bytes; the output 6 rows.
  EXPECT_EQ(traffic(tiny_forward(1, 0), OpKind::embedding), 6 * 4 + 96 + 96 + 96);
}

}  // namespace
}  // namespace zero::graph
