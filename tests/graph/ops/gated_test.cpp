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

/// An input of ids as tiny training fills it.
TensorId id_input(GraphBuilder& out, const std::string& name) {
  return out.input({.name = name, .sample = {out.length()}, .ids = 61});
}

/// Two layers, each a product whose front half gates the other.
Graph layers(Gate gate, Dtype compute = Dtype::f32, int64_t fused = 20) {
  GraphBuilder out({.samples = 2, .length = 4}, compute);
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return out.parameter({.name = name + ".weight", .shape = shape, .deviation = 0.3f});
  };
  out.unit("embedding");
  TensorId x = embedding(out, id_input(out, "tokens"), weight("table", {64, 6}));
  for (const std::string name : {"a", "b"}) {
    out.block(name);
    const TensorId both = linear(out, x, weight(name + ".up", {6, fused}), kNone);
    const TensorId bent = gated(out, both, gate);
    x = linear(out, bent, weight(name + ".down", {fused / 2, 6}), kNone);
  }
  out.unit("head");
  classifier(out, x, weight("head", {64, 6}), id_input(out, "targets"), 61, 8);
  return out.finish();
}

TEST(GatedOp, HasTheSlopesOfTheLoss) {
  for (const Gate gate : {Gate::silu, Gate::gelu_tanh}) {
    zero::testing::TriedGraph tried(layers(gate));
    tried.expect_slopes();
  }
}

TEST(GatedOp, IsRepeatedBySelectiveRecompute) {
  const Graph graph = differentiate(layers(Gate::silu));
  const Graph again = recompute(graph, std::vector(2, Recompute::selective));
  EXPECT_EQ(std::ranges::count(again.ops, &kGated, &Op::kind), 2 * 2);
  EXPECT_EQ(std::ranges::count(again.ops, &kGatedGrad, &Op::kind), 2);
  EXPECT_EQ(kinds(fuse(graph)).find("linear_gelu"), std::string::npos);
}

TEST(GatedOp, TrainsToTheSameBytesAtEveryStage) {
  const auto trained = [](plan::Request request, Recompute policy) {
    request.micro_batches = 4 / request.ranks;
    const Graph graph =
        recompute(differentiate(layers(Gate::silu, request.compute)), std::vector(2, policy));
    const plan::Plan plan = plan::compile(request, graph, {});
    zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(request.compute));
    return zero::testing::train(machine, plan, 2).state;
  };
  zero::testing::expect_same_at_every_stage(trained);
  plan::Request other{.reproducible = true};
  other.weight_decay = 0.5f;
  EXPECT_NE(trained({.reproducible = true}, Recompute::none), trained(other, Recompute::none));
}

TEST(GatedOp, RefusesAnOddNumberOfColumns) {
  EXPECT_THAT(
      testing_support::refusal_of(Exit::kInternal, [] { layers(Gate::silu, Dtype::f32, 21); }),
      ::testing::HasSubstr("a.up [8, 21] has no gate for each column"));
}

}  // namespace
}  // namespace zero::graph
