// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

/// An input of ids as tiny training fills it.
TensorId ids(GraphBuilder& out, const std::string& name) {
  return out.input({.name = name, .sample = {out.length()}, .ids = 61});
}

/// Two layers that norm their heads in front of attention, with the norm in one of two places.
struct Layers {
  bool whole = false, behind_rotation = false;
  float offset = 0;
  int64_t weight = 0;   ///< elements of weights, if they are others than fit
  bool shared = false;  ///< queries and keys have one weight
};

Graph layers(const Layers& options, Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 2, .length = 4}, compute);
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape, .deviation = 0.3f});
  };
  out.unit("embedding");
  TensorId x = embedding(out, ids(out, "tokens"), parameter("table", {64, 8}));
  const TensorId table = rotary_table(out, {.frequencies = {1, 0.2}, .positions = 4});
  const PackedHeads packed{.heads = 2, .key_heads = 2};
  const int64_t width = options.weight > 0 ? options.weight : options.whole ? 8 : 4;
  for (const std::string name : {"a", "b"}) {
    out.block(name);
    TensorId qkv = linear(out, x, parameter(name + ".qkv", {8, 24}), kNone);
    const TensorId query = parameter(name + ".q_norm", {width});
    const TensorId key = options.shared ? query : parameter(name + ".k_norm", {width});
    if (options.behind_rotation) qkv = rotate(out, qkv, {.packed = packed, .table = table});
    qkv = head_norm(out, qkv,
                    {.packed = packed,
                     .query_weight = query,
                     .key_weight = key,
                     .epsilon = 1e-5f,
                     .offset = options.offset,
                     .whole = options.whole});
    if (!options.behind_rotation) qkv = rotate(out, qkv, {.packed = packed, .table = table});
    x = dropout_add(out, attention(out, qkv, {.heads = 2}), x, 0, name);
  }
  out.unit("head");
  classifier(out, x, parameter("head", {64, 8}), ids(out, "targets"), 61, 8);
  return out.finish();
}

TEST(HeadNormOp, HasTheSlopesOfTheLoss) {
  for (const Layers& options : {Layers{}, Layers{.whole = true}, Layers{.behind_rotation = true},
                                Layers{.offset = 1}, Layers{.shared = true}}) {
    zero::testing::TriedGraph tried(layers(options));
    tried.expect_slopes();
  }
}

TEST(HeadNormOp, IsRepeatedBySelectiveRecompute) {
  const Graph graph = differentiate(layers({}));
  const Graph again = recompute(graph, std::vector(2, Recompute::selective));
  EXPECT_EQ(std::ranges::count(again.ops, &kHeadNorm, &Op::kind), 2 * 2);
  EXPECT_EQ(std::ranges::count(again.ops, &kRotate, &Op::kind), 2 * 2);
  EXPECT_EQ(std::ranges::count(again.ops, &kHeadNormGrad, &Op::kind), 2);
}

// Products with wider heads would stand in front of the norm, which knows nothing of zeros.
TEST(HeadNormOp, KeepsHeadsAsWideAsTheyAre) {
  const Graph graph = layers({});
  const Graph padded = pad_heads(graph, 8);
  EXPECT_EQ(kinds(padded), kinds(graph));
  EXPECT_EQ(padded.tensors.size(), graph.tensors.size());
}

TEST(HeadNormOp, TrainsToTheSameBytesAtEveryStage) {
  zero::testing::expect_same_at_every_stage([](plan::Request request, Recompute policy) {
    request.micro_batches = 4 / request.ranks;
    const Graph graph =
        recompute(differentiate(layers({.offset = 1}, request.compute)), std::vector(2, policy));
    const plan::Plan plan = plan::compile(request, graph, {});
    zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(request.compute));
    return zero::testing::train(machine, plan, 2).state;
  });
}

TEST(HeadNormOp, RefusesWeightsThatDoNotFit) {
  const auto said = [](const Layers& options) {
    return refusal_of(Exit::kInternal, [&] { layers(options); });
  };
  EXPECT_THAT(said({.weight = 8}), HasSubstr("a.q_norm.weight [8] is no weight of 4 for each"));
  EXPECT_THAT(said({.whole = true, .weight = 4}), HasSubstr("is no weight of 8 for all heads"));
}

}  // namespace
}  // namespace zero::graph
