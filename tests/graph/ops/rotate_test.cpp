// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/every_stage.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/slopes.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"

namespace zero::graph {
namespace {

using ::testing::HasSubstr;
using testing_support::refusal_of;
using zero::testing::TriedGraph;

constexpr int64_t kWidth = 8, kHeads = 2, kLength = 4;

RotaryTable angles(int64_t positions, double factor = 1) {
  return {.frequencies = {1.0, 0.3}, .positions = positions, .factor = factor};
}

/// An input of ids as tiny training fills it.
TensorId ids(GraphBuilder& out, const std::string& name) {
  return out.input({.name = name, .sample = {out.length()}, .ids = 61});
}

/// The tables and the packing of a layer.
struct Layer {
  RotaryTable keys = angles(kLength);
  RotaryTable queries = {};  ///< without frequencies: those of keys
  bool packed = false;       ///< samples hold two texts
};

/// Two layers of attention whose queries and keys are turned by one table.
Graph rotated(const Layer& layer = {}, Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = kLength}, compute);
  out.unit("embedding");
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape, .deviation = 0.3f});
  };
  const TensorId table = weight("table", {64, kWidth});
  TensorId x = embedding(out, ids(out, "tokens"), table);
  const TensorId first =
      layer.packed ? out.input({.name = "first", .sample = {kLength}, .ids = 1}) : kNone;
  for (const std::string name : {"a", "b"}) {
    out.block(name);
    const TensorId qkv = linear(out, x, weight(name + ".qkv", {kWidth, 3 * kWidth}), kNone);
    const TensorId keys = rotary_table(out, layer.keys);
    const TensorId queries =
        layer.queries.frequencies.empty() ? kNone : rotary_table(out, layer.queries);
    const TensorId turned = rotate(out, qkv,
                                   {.packed = {.heads = kHeads, .key_heads = kHeads},
                                    .table = keys,
                                    .query_table = queries,
                                    .first = first});
    const TensorId seen = attention(out, turned, {.heads = kHeads});
    x = dropout_add(out, linear(out, seen, weight(name + ".o", {kWidth, kWidth}), kNone), x, 0,
                    name);
  }
  out.unit("head");
  classifier(out, x, weight("head", {64, kWidth}), ids(out, "targets"), 61, 3);
  return out.finish();
}

TEST(RotaryTable, HasTheCosinesAndSinesOfEachPosition) {
  GraphBuilder out({.samples = 1, .length = 3}, Dtype::bf16);
  RotaryTable table = angles(3, 2.0);
  table.position_factors = {1, 1, 0.5};
  const TensorId id = rotary_table(out, table);
  EXPECT_EQ(out[id].shape, Shape({3, 4}));
  EXPECT_EQ(out[id].dtype, Dtype::f32);
  const std::vector<float>& values = *out.graph().constants.at(0).values;
  const double second[] = {2 * std::cos(1.0), 2 * std::cos(0.3), 2 * std::sin(1.0),
                           2 * std::sin(0.3)};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(values[4 + i], float(second[i]));
  EXPECT_EQ(values[8], float(std::cos(2.0))) << "the factor of position 2 halves the other";
  EXPECT_EQ(rotary_table(out, table), id) << "equal tables are one tensor";
  EXPECT_NE(rotary_table(out, angles(3)), id);
}

TEST(RotaryTable, RefusesFactorsForOtherPositions) {
  GraphBuilder out({.samples = 1, .length = 3}, Dtype::f32);
  RotaryTable table = angles(3);
  table.position_factors = {1, 1};
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { rotary_table(out, table); }),
              HasSubstr("3 positions with 2 factors"));
}

TEST(RotateOp, HasTheSlopesOfTheLoss) {
  for (const Layer& layer : {Layer{}, Layer{.queries = angles(kLength, 1.5)},
                             Layer{.keys = {.frequencies = {0.7}, .positions = 9}}}) {
    TriedGraph tried(rotated(layer));
    tried.expect_slopes();
  }
}

TEST(RotateOp, HasTheSlopesOfTheLossInPackedSamples) {
  TriedGraph tried(rotated({.packed = true}));
  std::ranges::copy(std::array{0, 0, 2, 2, 0, 1, 1, 1}, tried.ids("first").begin());
  const double packed = tried.loss();
  tried.expect_slopes();
  std::ranges::fill(tried.ids("first"), 0);
  EXPECT_NE(tried.loss(), packed) << "positions count from the first place of a text";
}

// Attention depends on differences of positions alone.
TEST(RotateOp, LeavesTheLossAsItIsIfAllPositionsMove) {
  TriedGraph tried(rotated({.keys = angles(10), .packed = true}));
  std::ranges::fill(tried.ids("first"), 0);
  const double at_zero = tried.loss();
  std::ranges::fill(tried.ids("first"), -5);
  EXPECT_NEAR(tried.loss(), at_zero, 1e-5);
  TriedGraph other(rotated({.keys = angles(10), .queries = angles(10, 2), .packed = true}));
  std::ranges::fill(other.ids("first"), 0);
  EXPECT_GT(std::abs(other.loss() - at_zero), 1e-4) << "the loss depends on the angles";
}

TEST(RotateOp, IsRepeatedBySelectiveRecomputeAndKeepsNothing) {
  const Graph graph = differentiate(rotated());
  const Graph again = recompute(graph, std::vector(2, Recompute::selective));
  const auto count = [&](OpKind kind) { return std::ranges::count(again.ops, kind, &Op::kind); };
  EXPECT_EQ(count(&kRotate), 2 * 2);
  EXPECT_EQ(count(&kRotateGrad), 2);
  const Op& back = first(graph, &kRotateGrad);
  for (size_t i = 1; i < back.inputs.size(); ++i)
    EXPECT_TRUE(back.inputs[i] == kNone || graph[back.inputs[i]].role == Role::constant);
}

std::vector<std::byte> trained(plan::Request request, Recompute policy, bool in_random_order) {
  request.micro_batches = 4 / request.ranks;
  const Graph forward = rotated({}, request.compute);
  const Graph graph = recompute(differentiate(forward), std::vector(2, policy));
  const plan::Plan plan = plan::compile(request, graph, forward);
  const run::Rules rules = zero::testing::tiny_rules(request.compute);
  if (in_random_order) {
    zero::testing::RandomRanks machine(plan, rules, {.seed = 7, .exact_copies = true});
    return zero::testing::train(machine, plan, 2).state;
  }
  zero::testing::ThreadRanks machine(plan, rules);
  return zero::testing::train(machine, plan, 2).state;
}

TEST(RotateOp, TrainsToTheSameBytesAtEveryStage) {
  for (const bool in_random_order : {false, true}) {
    zero::testing::expect_same_at_every_stage([&](const plan::Request& request, Recompute policy) {
      return trained(request, policy, in_random_order);
    });
  }
}

/// A chunk of 3 rows in a context of 6 whose queries and keys are turned.
Graph chunk_of(int64_t positions, bool first = false) {
  GraphBuilder out({.length = 3, .context = 6}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {5, 12}});
  const TensorId tokens = out.input({.name = "tokens", .sample = {3}, .ids = 5});
  const TensorId y = rotate(out, embedding(out, tokens, table),
                            {.packed = {.heads = 1, .key_heads = 1},
                             .table = rotary_table(out, angles(positions)),
                             .first = first ? tokens : kNone});
  logits(out, y, table, 5);
  return out.finish();
}

TEST(RotateOp, TakesThePositionsOfAChunk) {
  const Graph graph = chunk_of(6);
  run::NaiveExecutor naive(graph, 1);
  std::ranges::fill(naive.values<int32_t>(graph.input("tokens")), 0);
  std::ranges::fill(naive.values<float>(graph.parameters[0].tensor), 1.0f);
  naive.values<kernels::DecodeInputs>(graph.decode_inputs)[0] = {
      .rows = 2, .moves = 0, .logits = 1};
  std::ranges::fill(naive.values<int32_t>(graph.input(kLogitRowsInput)), 0);
  const auto rows = naive.values<kernels::ChunkRow>(graph.input(kRowsInput));
  rows[0].position = 5;
  rows[1].position = 0;
  naive.run(0);
  const std::span<float> y = naive.values<float>(first(graph, &kRotate).outputs[0]);
  EXPECT_NEAR(y[0], std::cos(5.0) - std::sin(5.0), 1e-6);
  EXPECT_EQ(y[12], 1.0f);
  EXPECT_EQ(y[24], 0.0f) << "padding";
}

TEST(RotateOp, RefusesTablesThatDoNotFit) {
  const auto said = [](const auto& build) { return refusal_of(Exit::kInternal, build); };
  EXPECT_THAT(said([] { rotated({.keys = angles(3)}); }),
              HasSubstr("has no row for each of 4 positions"));
  EXPECT_THAT(said([] { chunk_of(5); }), HasSubstr("has no row for each of 6 positions"));
  EXPECT_THAT(said([] { chunk_of(6, true); }), HasSubstr("takes no `first`"));
  EXPECT_THAT(said([] {
                rotated({.keys = {.frequencies = {1, 1, 1}, .positions = 4}});
              }),
              HasSubstr("turns more columns than the 4 of a head"));
  EXPECT_THAT(said([] { rotated({.queries = {.frequencies = {1}, .positions = 4}}); }),
              HasSubstr("differ in shape"));
  EXPECT_NO_THROW(chunk_of(6));
}

TEST(RotateOp, RefusesHeadsOfAnOddWidth) {
  GraphBuilder out({.samples = 1, .length = 3}, Dtype::f32);
  out.unit("only");
  const TensorId qkv =
      embedding(out, tiny_ids(out, "tokens"), out.parameter({.name = "table", .shape = {5, 15}}));
  const auto turn = [&](int64_t heads) {
    rotate(out, qkv,
           {.packed = {.heads = heads, .key_heads = 1}, .table = rotary_table(out, angles(3))});
  };
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { turn(1); }), HasSubstr("heads of 5 columns"));
  EXPECT_THAT(refusal_of(Exit::kInternal, [&] { turn(2); }), HasSubstr("does not split into 2"));
}

}  // namespace
}  // namespace zero::graph
