// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

Graph without_biases() {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {5, 6}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  const TensorId up = out.parameter({.name = "up.weight", .shape = {6, 10}});
  const TensorId down = out.parameter({.name = "down.weight", .shape = {10, 6}});
  const TensorId bent = gelu(out, linear(out, x, up, kNone));
  const TensorId sum = dropout_add(out, linear(out, bent, down, kNone), x, 0, "sum");
  classifier(out, sum, table, tiny_ids(out, "targets"), 5, 8);
  return out.finish();
}

TEST(LinearWithoutBias, HasNoBiasGradientAndIsFusedAsWithOne) {
  const Graph graph = differentiate(without_biases());
  EXPECT_THAT(kinds(graph), ::testing::Not(::testing::HasSubstr("linear_bias_grad")));
  EXPECT_EQ(kinds(fuse(graph)),
            "embedding linear_gelu linear_add classifier"
            " linear_weight_grad linear_input_gelu_grad linear_weight_grad linear_input_grad"
            " add embedding_grad");
}

TEST(LinearWithoutBias, GivesTheSameLossAndGradientsFused) {
  TriedGraph plain(without_biases());
  plain.expect_slopes();
  const Graph fused = fuse(differentiate(without_biases()));
  run::NaiveExecutor naive(fused, 1);
  for (size_t t = 0; t < plain.graph().tensors.size(); ++t) {
    const Role role = plain.graph().tensors[t].role;
    if (role == Role::activation || role == Role::gradient) continue;
    std::ranges::copy(plain.bytes(TensorId(t)), naive.bytes(TensorId(t)).begin());
  }
  plain.loss();
  naive.run(0);
  for (const Parameter& parameter : fused.parameters) {
    const auto expected = plain.bytes(parameter.gradient), got = naive.bytes(parameter.gradient);
    EXPECT_TRUE(std::ranges::equal(expected, got)) << fused[parameter.tensor].name;
  }
}

TEST(LinearWithoutBias, ContinuesATextWithAProductOfRows) {
  GraphBuilder out({.length = 1, .context = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {5, 6}});
  const TensorId weight = out.parameter({.name = "weight", .shape = {6, 6}});
  const TensorId ids = out.input({.name = "tokens", .sample = {1}, .ids = 5});
  logits(out, linear(out, embedding(out, ids, table, kNone, 2.0f), weight, kNone), table,
         {.vocabulary = 5, .scale = 0.5f});
  const Graph graph = out.finish();
  EXPECT_EQ(kinds(graph), "embedding_at row_linear logits");
  EXPECT_EQ(first(graph, &kRowLinear).inputs[2], kNone);
}

}  // namespace
}  // namespace zero::graph
