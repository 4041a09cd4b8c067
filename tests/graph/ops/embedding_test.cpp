// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"

namespace zero::graph {
namespace {

using zero::testing::TriedGraph;

/// The sum of two embeddings by one table, the second scaled, before a classifier with it or with
/// a table of its own.
Graph twice(bool tied) {
  GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {8, 6}, .padding_rows = 3});
  const TensorId places = out.parameter({.name = "places", .shape = {5, 6}});
  const TensorId source = embedding(out, tiny_ids(out, "source"), table, kNone, 3.0f);
  const TensorId target = embedding(out, tiny_ids(out, "tokens"), table, places, 0.5f);
  const TensorId head = tied ? table : out.parameter({.name = "head", .shape = {8, 6}});
  classifier(out, dropout_add(out, source, target, 0, "sum"), head, tiny_ids(out, "targets"), 5, 8);
  return out.finish();
}

TEST(EmbeddingOp, GivesATableWithThreeUsersTheSumOfTheirGradients) {
  const Graph graph = differentiate(twice(true));
  EXPECT_EQ(kinds(graph),
            "embedding embedding dropout_add classifier embedding_grad embedding_grad");
  const Op& first_grad = first(graph, &kEmbeddingGrad);
  EXPECT_EQ(first_grad.inputs[2], first_grad.outputs[0]) << "adds to what the classifier wrote";
  EXPECT_EQ(first_grad.outputs.size(), 2u) << "that of the positions";
  EXPECT_EQ(graph.ops.back().outputs.size(), 1u);
  TriedGraph(twice(true)).expect_slopes();
}

TEST(EmbeddingOp, WritesTheWholeGradientOfATableThatOnlyItUses) {
  const Graph graph = differentiate(twice(false));
  const Op& first_grad = first(graph, &kEmbeddingGrad);
  EXPECT_EQ(first_grad.inputs[2], kNone);
  EXPECT_EQ(graph.ops.back().inputs[2], first_grad.outputs[0]);
  TriedGraph tried(twice(false));
  tried.expect_slopes();
  // Tokens are below 5; behind them is padding.
  const std::span<float> gradient = tried.values(graph.parameters[0].gradient);
  for (size_t i = 30; i < 48; ++i) EXPECT_EQ(gradient[i], 0.0f) << i;
}

TEST(EmbeddingOp, LeavesTheRowOfAnIdThatStandsStillToOtherUsers) {
  const auto graph = [](bool tied, int64_t still) {
    GraphBuilder out({.samples = 2, .length = 4}, Dtype::f32);
    out.unit("only");
    const TensorId table = out.parameter({.name = "table", .shape = {8, 6}, .padding_rows = 3});
    const TensorId x = embedding(out, tiny_ids(out, "tokens"), table, {.scale = 2, .still = still});
    const TensorId head = tied ? table : out.parameter({.name = "head", .shape = {8, 6}});
    classifier(out, x, head, tiny_ids(out, "targets"), 5, 8);
    return out.finish();
  };
  EXPECT_NE(graph(true, 1).ops[0].attributes, graph(true, 2).ops[0].attributes);
  for (const bool tied : {true, false}) {
    TriedGraph plain(graph(tied, -1)), still(graph(tied, 3));
    plain.loss();
    still.loss();
    const std::span<float> of_plain = plain.values(plain.graph().parameters[0].gradient),
                           of_still = still.values(still.graph().parameters[0].gradient);
    const std::span<int32_t> ids = still.ids("tokens");
    ASSERT_NE(std::ranges::find(ids, 3), ids.end());
    for (size_t i = 0; i < 48; ++i) {
      if (i / 6 != 3) {
        EXPECT_EQ(of_still[i], of_plain[i]) << i;
      } else if (tied) {
        EXPECT_NE(of_still[i], of_plain[i]) << i;
        EXPECT_NE(of_still[i], 0) << "of the classifier";
      } else {
        EXPECT_EQ(of_still[i], 0) << i;
      }
    }
  }
}

TEST(EmbeddingOp, CountsTheZerosThatItFillsATableWith) {
  const Graph graph = differentiate(twice(false));
  const auto traffic = [&](const Op& op) { return op.kind->traffic_bytes(graph, op); };
  // 8 tokens, dx of 8 x 6, at most 8 rows read, and written, of the table, 5 positions.
  EXPECT_EQ(traffic(graph.ops.back()), 8 * 4 + 3 * 8 * 6 * 4);
  EXPECT_EQ(traffic(first(graph, &kEmbeddingGrad)), 8 * 4 + (2 * 8 + 5 + 8) * 6 * 4);
}

TEST(EmbeddingOp, ScalesTheRowsOfTokensAlone) {
  TriedGraph tried(twice(true));
  tried.loss();
  const Graph& graph = tried.graph();
  const std::span<float> table = tried.values(graph.parameters[0].tensor);
  const std::span<float> places = tried.values(graph.parameters[1].tensor);
  const std::span<float> source = tried.values(graph.ops[0].outputs[0]);
  const std::span<float> target = tried.values(graph.ops[1].outputs[0]);
  const std::span<int32_t> ids = tried.ids("source"), tokens = tried.ids("tokens");
  for (size_t r = 0; r < 8; ++r) {
    for (size_t j = 0; j < 6; ++j) {
      EXPECT_EQ(source[r * 6 + j], 3 * table[size_t(ids[r]) * 6 + j]);
      EXPECT_FLOAT_EQ(target[r * 6 + j],
                      0.5f * table[size_t(tokens[r]) * 6 + j] + places[r % 4 * 6 + j]);
    }
  }
}

}  // namespace
}  // namespace zero::graph
