// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/graph/operations.hpp"

namespace zero::graph {
namespace {

using ::testing::HasSubstr;
using zero::testing::TriedGraph;

/// A product whose columns from `first` on get the result of two narrow products.
Graph adapted(int64_t first, Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = 4}, compute);
  out.unit("only");
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape});
  };
  const TensorId x =
      embedding(out, tiny_ids(out, "tokens"), out.parameter({.name = "table", .shape = {5, 6}}));
  const TensorId wide = linear(out, x, weight("wide", {6, 9}), kNone);
  const TensorId low = linear(out, x, weight("low", {6, 2}), kNone);
  const TensorId high = linear(out, low, weight("high", {2, 4}), kNone);
  const TensorId y = add_to_columns(out, wide, high, {.first = first, .scale = 1.5f});
  const TensorId down = linear(out, gelu(out, y), weight("down", {9, 6}), kNone);
  classifier(out, down, weight("head", {5, 6}), tiny_ids(out, "targets"), 5, 8);
  return out.finish();
}

TEST(ColumnOps, HaveTheSlopesOfTheLoss) {
  for (const int64_t first : {0, 3, 5}) {
    TriedGraph tried(adapted(first));
    tried.expect_slopes();
  }
}

TEST(ColumnOps, ScaleTheGradientOfThePartAlone) {
  const Graph graph = differentiate(adapted(3));
  const Op& back = zero::graph::first(graph, &kTakeColumns);
  EXPECT_EQ(graph[back.outputs[0]].shape, Shape({8, 4}));
  EXPECT_EQ(std::ranges::count(graph.ops, &kAddToColumns, &Op::kind), 1);
  EXPECT_EQ(std::ranges::count(graph.ops, &kTakeColumns, &Op::kind), 1);
}

/// A residual stream whose branch is scaled.
TEST(ColumnOps, AddScaledRowsToAResidual) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {5, 6}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table);
  const TensorId branch =
      gelu(out, linear(out, x, out.parameter({.name = "branch.weight", .shape = {6, 6}}), kNone));
  const TensorId y = add_to_columns(out, x, branch, {.first = 0, .scale = 0.25f});
  classifier(out, y, out.parameter({.name = "head", .shape = {5, 6}}), tiny_ids(out, "targets"), 5,
             8);
  TriedGraph tried(out.finish());
  tried.loss();
  for (size_t i = 0; i < 48; ++i)
    EXPECT_FLOAT_EQ(tried.values(y)[i], tried.values(x)[i] + 0.25f * tried.values(branch)[i]);
  tried.expect_slopes();
}

TEST(ColumnOps, RefuseAPartThatDoesNotFit) {
  for (const int64_t first : {-1, 6}) {
    const std::string error = testing_support::refusal_of(Exit::kInternal, [&] { adapted(first); });
    EXPECT_THAT(error,
                HasSubstr(text("high [8, 4] does not fit into wide [8, 9] from column ", first)));
  }
}

}  // namespace
}  // namespace zero::graph
