// Ranks: 1

#include "zero/graph/operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/every_stage.hpp"
#include "tests/support/naive.hpp"
#include "tests/support/signed_square.hpp"
#include "tests/support/tiny_graph.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/plan/plan.hpp"

namespace zero::graph {
namespace {

using testing::kSignedSquare;
using testing::kSignedSquareGrad;
using testing::signed_square;

/// Three blocks, each with a norm of its own, and one product that they share, in a unit of its
/// own.
Graph forward(Dtype compute = Dtype::f32) {
  GraphBuilder out({.samples = 1, .length = 8}, compute);
  out.unit("embedding");
  const TensorId table = out.parameter({.name = "table", .shape = {64, 16}, .padding_rows = 3});
  TensorId x = embedding(out, tiny_ids(out, "tokens"), table,
                         out.parameter({.name = "places", .shape = {8, 16}}));
  out.unit("shared");
  const TensorId weight =
      out.parameter({.name = "shared.weight", .shape = {16, 16}, .deviation = 0.2f});
  const TensorId bias = out.parameter({.name = "shared.bias", .shape = {16}});
  for (const std::string name : {"a", "b", "c"}) {
    out.block(name);
    const TensorId scale = out.parameter({.name = name + ".scale", .shape = {16}});
    const TensorId shift = out.parameter({.name = name + ".shift", .shape = {16}});
    const TensorId normed = layernorm(out, x, scale, shift, 1e-5f);
    const TensorId bent = signed_square(out, linear(out, normed, weight, bias));
    x = dropout_add(out, bent, x, 0, name);
  }
  out.unit("embedding");
  classifier(out, x, table, tiny_ids(out, "targets"), 61, 8);
  return out.finish();
}

TEST(OwnOperation, IsDifferentiatedAndRepeatedLikeAnyOther) {
  const Graph graph = differentiate(forward());
  const Graph again = recompute(graph, std::vector(3, Recompute::selective));
  EXPECT_EQ(std::ranges::count(graph.ops, &kSignedSquareGrad, &Op::kind), 3);
  EXPECT_EQ(std::ranges::count(again.ops, &kLayernorm, &Op::kind), 2 * 3);
  for (const Op& op : again.ops) {
    if (op.kind != &kSignedSquareGrad) continue;
    EXPECT_FALSE(again[op.inputs[0]].name.ends_with("again"));
  }
  EXPECT_THAT(kinds(fuse(graph)), ::testing::HasSubstr("linear signed_square dropout_add"));
}

TEST(OwnOperation, GivesItsGradientInTheNaiveRun) {
  GraphBuilder out({.samples = 1, .length = 2}, Dtype::f32);
  out.unit("only");
  const TensorId table = out.parameter({.name = "table", .shape = {3, 2}});
  const TensorId places = out.parameter({.name = "places", .shape = {2, 2}});
  const TensorId x = embedding(out, tiny_ids(out, "tokens"), table, places);
  classifier(out, signed_square(out, x), table, tiny_ids(out, "targets"), 3, 2);
  const Graph graph = differentiate(out.finish());
  run::NaiveExecutor naive(graph, 1);
  std::ranges::copy(std::array{0, 1}, naive.values<int32_t>(graph.input("tokens")).begin());
  std::ranges::copy(std::array{2, 2}, naive.values<int32_t>(graph.input("targets")).begin());
  naive.values<kernels::StepInputs>(graph.step_inputs)[0] = {};
  naive.values<kernels::StepInputs>(graph.step_inputs)[0].counted_tokens = 2;
  naive.values<kernels::StepState>(graph.step_state)[0] = {};
  naive.values<kernels::StepState>(graph.step_state)[0].loss_scale = 1;
  naive.values<kernels::StepSums>(graph.output(kLossOutput))[0] = {};
  std::ranges::copy(std::array{1.0f, -1.0f, 2.0f, -3.0f, 1.0f, 1.0f},
                    naive.values<float>(table).begin());
  std::ranges::copy(std::array{0.5f, 0.0f, 0.0f, 4.0f}, naive.values<float>(places).begin());
  naive.run(0);
  const Op& bend = first(graph, &kSignedSquare);
  EXPECT_THAT(naive.values<float>(bend.outputs[0]), ::testing::ElementsAre(2.25f, -1, 4, 1));
  const Op& slope = first(graph, &kSignedSquareGrad);
  const std::span<const float> dy = naive.values<float>(slope.inputs[1]);
  EXPECT_NE(dy[0], 0);
  EXPECT_THAT(naive.values<float>(slope.outputs[0]),
              ::testing::ElementsAre(3 * dy[0], 2 * dy[1], 4 * dy[2], 2 * dy[3]));
}

/// The states after some steps of four micro-batches.
std::vector<std::byte> trained_bytes(plan::Request request, Recompute policy, int steps = 2) {
  request.micro_batches = 4 / request.ranks;
  Graph graph = recompute(differentiate(forward(request.compute)), std::vector(3, policy));
  if (request.sums_in_products) graph = fuse(graph);
  const plan::Plan plan = plan::compile(request, graph, {});
  zero::testing::ThreadRanks machine(plan, zero::testing::tiny_rules(request.compute));
  return zero::testing::train(machine, plan, steps).state;
}

TEST(OwnOperation, TrainsWithAWeightOfThreeUnitsToTheSameBytesAtEveryStage) {
  zero::testing::expect_same_at_every_stage([](const plan::Request& request, Recompute policy) {
    return trained_bytes(request, policy);
  });
  EXPECT_NE(trained_bytes({.reproducible = true}, Recompute::none, 1),
            trained_bytes({.reproducible = true}, Recompute::none))
      << "nothing was learnt";
}

/// What happens to the unit that three blocks use, in a step of one micro-batch at stage 3.
struct SharedUnit {
  explicit SharedUnit(int64_t keep_distance_numel) {
    const plan::Plan plan =
        plan::compile({.stage = 3, .ranks = 2, .keep_distance_numel = keep_distance_numel},
                      differentiate(forward()), {});
    for (const plan::PlanOp& op : plan.bodies[plan::kStep].ops) {
      const bool is_shared = op.unit >= 0 && plan.units[size_t(op.unit)].name == "shared";
      if (is_shared && op.kind == plan::Kind::all_gather) ++gathers;
      if (is_shared && op.kind == plan::Kind::reduce_scatter) ++reductions;
      if (op.kind != plan::Kind::compute) continue;
      const Graph& graph = plan.graphs[0];
      for (TensorId output : graph.ops[size_t(op.graph_op)].outputs) {
        const Tensor& tensor = graph[output];
        if (tensor.role != Role::gradient) continue;
        const std::string& name = graph[tensor.parameter].name;
        if (name.starts_with("shared.")) reduced_before_the_last_user |= reductions > 0;
      }
    }
  }
  int gathers = 0, reductions = 0;
  bool reduced_before_the_last_user = false;
};

TEST(OwnOperation, SharesAUnitThatIsKeptWhileItsUsersAreNearAndReducedOnce) {
  for (const auto& [distance, gathers] : {std::pair{1'000'000, 1}, std::pair{0, 6}}) {
    const SharedUnit shared(distance);
    EXPECT_EQ(shared.gathers, gathers) << "three times forward, three times backward";
    EXPECT_EQ(shared.reductions, 1);
    EXPECT_FALSE(shared.reduced_before_the_last_user);
  }
}

TEST(OwnOperation, LeavesASharedWeightOutOfTheSumsThatProductsAddTo) {
  plan::Request request;
  request.ranks = 2;
  request.stage = 0;
  const std::vector<std::byte> apart = trained_bytes(request, Recompute::selective);
  request.sums_in_products = true;
  for (int stage : {0, 1}) {
    request.stage = stage;
    EXPECT_EQ(trained_bytes(request, Recompute::selective), apart) << "stage " << stage;
  }
}

}  // namespace
}  // namespace zero::graph
