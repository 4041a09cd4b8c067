// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "zero/base/error.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

/// Tokens beside their neighbours, without padding, added to the middle of a table; then the first
/// of each sample.
Graph moved() {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.block("only");
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name, .shape = shape});
  };
  TensorId x = embedding(out, tiny_ids(out, "tokens"), parameter("words", {5, 3}));
  x = clear_padding(out, x, out.input({.name = "counts", .sample = {1}, .ids = 5}));
  x = linear(out, neighbour_rows(out, x), parameter("weight", {9, 3}), kNone);
  x = add(out, x, take_rows(out, parameter("table", {12, 3}), {.first = 2, .count = 8}), "sum");
  class_loss(out, {.logits = first_rows(out, x),
                   .labels = out.input({.name = "labels", .sample = {1}, .ids = 3})});
  return out.finish();
}

TEST(SampleRowsOps, HaveTheSlopesOfTheLoss) {
  TriedGraph tried(moved());
  for (const std::array<int32_t, 2>& counts : {std::array{4, 3}, std::array{1, 0}}) {
    std::ranges::copy(counts, tried.ids("counts").begin());
    tried.expect_slopes();
  }
}

TEST(SampleRowsOps, WriteWhatTheGradientReads) {
  const Graph graph = differentiate(moved());
  EXPECT_THAT(kinds(graph), ::testing::HasSubstr("class_loss take_rows_grad"));
  EXPECT_EQ(std::ranges::count(graph.ops, &kClearPadding, &Op::kind), 2);
  EXPECT_EQ(std::ranges::count(graph.ops, &kTakeRowsGrad, &Op::kind), 2);
  EXPECT_EQ(std::ranges::count(graph.ops, &kNeighbourRowsGrad, &Op::kind), 1);
}

TEST(SampleRowsOps, RepeatNeighboursUnderSelectiveRecompute) {
  const Graph graph = recompute(differentiate(moved()), {Recompute::selective});
  EXPECT_EQ(std::ranges::count(graph.ops, &kNeighbourRows, &Op::kind), 2);
}

TEST(SampleRowsRefusal, NamesRowsThatAreNotThere) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId x = out.activation("x", Dtype::f32, {8, 3});
  const TensorId odd = out.activation("odd", Dtype::f32, {7, 3});
  const TensorId counts = out.activation("counts", Dtype::i32, {2});
  EXPECT_EQ(out[take_rows(out, x, {.first = 7, .count = 1})].shape, Shape({1, 3}));
  EXPECT_THROW(take_rows(out, x, {.first = 7, .count = 2}), Error);
  EXPECT_THROW(take_rows(out, x, {.first = -1, .count = 2}), Error);
  EXPECT_EQ(out[first_rows(out, x)].shape, Shape({2, 3}));
  EXPECT_THROW(first_rows(out, odd), Error);
  EXPECT_EQ(out[neighbour_rows(out, x)].shape, Shape({8, 9}));
  EXPECT_THROW(neighbour_rows(out, odd), Error);
  EXPECT_EQ(out[clear_padding(out, x, counts)].shape, Shape({8, 3}));
  EXPECT_THROW(clear_padding(out, x, x), Error);
}

}  // namespace
}  // namespace zero::graph
