// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/compile/body_builder.hpp"
#include "src/compile/passes.hpp"
#include "src/plan/verify_parts.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

using graph::Recompute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

testing::TinyModel model_of(int64_t layers, Recompute recompute = Recompute::full) {
  testing::TinyModel model;
  model.gpt2.layers = layers;
  model.recompute = recompute;
  return model;
}

graph::Graph graph_of(const testing::TinyModel& model) {
  return testing::tiny_training_graph(model, Dtype::f32);
}

/// Unit 0 is the embedding with the head, so block i is layer i + 1.
std::vector<int> layers_of(const graph::Graph& graph, const std::vector<MovedActivation>& moved) {
  std::vector<int> layers;
  for (const MovedActivation& one : moved) layers.push_back(graph.ops[size_t(one.back)].unit);
  return layers;
}

TEST(FindMoved, TakesTheInputOfEachBlockButThoseThatAreWantedAtOnce) {
  const graph::Graph graph = graph_of(model_of(4));
  EXPECT_EQ(layers_of(graph, find_moved(graph, 1)), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(layers_of(graph, find_moved(graph, 2)), (std::vector<int>{2, 1}));
  EXPECT_TRUE(find_moved(graph, 4).empty());
  EXPECT_TRUE(find_moved(graph, 1000).empty());
}

TEST(FindMoved, LeavesBehindTheBlockThatReadsAndComesBackSoManyBlocksAhead) {
  const graph::Graph graph = graph_of(model_of(4));
  for (int blocks : {1, 2}) {
    for (const MovedActivation& one : find_moved(graph, blocks)) {
      const int layer = graph.ops[size_t(one.back)].unit;
      EXPECT_EQ(graph.ops[size_t(one.away)].unit, layer);
      EXPECT_FALSE(graph.ops[size_t(one.away)].backward);
      EXPECT_EQ(graph.ops[size_t(one.gone)].unit, std::min(layer + 1 + blocks, 5) % 5);
      EXPECT_TRUE(graph.ops[size_t(one.ahead)].backward);
      EXPECT_EQ(graph.ops[size_t(one.ahead)].unit, layer + blocks);
    }
  }
}

TEST(FindMoved, FollowsTheChoiceOfRecompute) {
  EXPECT_TRUE(find_moved(graph_of(model_of(4, Recompute::none)), 1).empty());
  // Both norms and the activation function begin with something.
  EXPECT_EQ(find_moved(graph_of(model_of(4, Recompute::selective)), 1).size(), 9u);
  testing::TinyModel model = model_of(4, Recompute::none);
  model.blocks = {Recompute::none, Recompute::full};
  const graph::Graph graph = graph_of(model);
  EXPECT_EQ(layers_of(graph, find_moved(graph, 1)), (std::vector<int>{2}));
}

TEST(FindMoved, FindsNothingWithoutABackwardPass) {
  EXPECT_TRUE(find_moved(testing::tiny_evaluation_graph(model_of(4), Dtype::f32), 1).empty());
}

/// Long samples, so that activations are most of what the plan holds.
Plan plan_of(int64_t layers, Tier home, int staged = 1, int micro_batches = 2) {
  testing::TinyModel model = model_of(layers);
  model.gpt2.positions = model.micro.length = 256;
  return testing::tiny_plan({.stage = 1,
                             .micro_batches = micro_batches,
                             .activation_home = home,
                             .staged_activations = staged},
                            model);
}

int64_t activation_bytes(const Plan& plan, Tier tier) {
  const Machine machine = machine_profile("host", Dtype::f32);
  return forecast(plan, machine).bytes[size_t(tier)][size_t(Use::activations)];
}

int64_t arena(const Plan& plan, Tier tier) { return plan.arena_bytes[size_t(tier)]; }

constexpr int64_t kInputBytes = 256 * 16 * 4;  // tokens, width, fp32: whole pages

// One is read while the next one comes.
TEST(ActivationHomes, TheDeviceIsSpareOfAllInputsButThoseInUseAndOnTheirWay) {
  for (int staged : {1, 2}) {
    for (int64_t layers : {6, 12}) {
      const Plan plain = plan_of(layers, Tier::device, staged);
      const Plan moved = plan_of(layers, Tier::host, staged);
      EXPECT_EQ(activation_bytes(plain, Tier::device) - activation_bytes(moved, Tier::device),
                (layers - 1 - staged) * kInputBytes);
      // In the middle of the model the gradients of a block more are held.
      EXPECT_GE(arena(plain, Tier::device) - arena(moved, Tier::device),
                (layers - 3 - staged) * kInputBytes);
      EXPECT_EQ(arena(moved, Tier::host), (layers - staged) * kInputBytes);
    }
  }
}

TEST(ActivationHomes, MoreLayersTakeNoMoreOfTheDevice) {
  for (Tier home : {Tier::host, Tier::nvme}) {
    EXPECT_EQ(activation_bytes(plan_of(6, home), Tier::device),
              activation_bytes(plan_of(12, home), Tier::device));
    EXPECT_EQ(activation_bytes(plan_of(12, home), home) - activation_bytes(plan_of(6, home), home),
              6 * (home == Tier::nvme ? kDiskExtentAlignBytes : kInputBytes));
  }
}

TEST(ActivationHomes, ADiskNeedsNoMoreOfTheHostThanIsOnItsWay) {
  const auto on_the_way = [](int64_t layers, int staged) {
    const Plan plan = plan_of(layers, Tier::nvme, staged);
    return arena(plan, Tier::host) - plan.buffers[size_t(plan.disk_window)].bytes;
  };
  EXPECT_EQ(on_the_way(12, 1), on_the_way(6, 1));
  EXPECT_LE(on_the_way(12, 1), 3 * kInputBytes);
  EXPECT_LE(on_the_way(12, 2), 4 * kInputBytes);
}

TEST(ActivationHomes, ManyMicroBatchesUseTheSameBytes) {
  for (Tier home : {Tier::host, Tier::nvme}) {
    EXPECT_EQ(arena(plan_of(6, home, 1, 5), home), arena(plan_of(6, home, 1, 2), home));
  }
}

/// Ops of the step that move activations, by their places.
std::vector<int32_t> moves_on(const Plan& plan, Lane lane) {
  std::vector<int32_t> places;
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  for (int32_t i = 0; i < int32_t(ops.size()); ++i) {
    if (ops[size_t(i)].lane == lane && is_transfer(ops[size_t(i)].kind)) places.push_back(i);
  }
  return places;
}

// What is sent is not waited for by the next block, what is fetched has a whole block of time.
TEST(ActivationHomes, NoBlockWaitsForTheInputThatWasSentLastOrIsFetchedForTheNext) {
  const Plan plan = plan_of(6, Tier::host);
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  const std::vector<int32_t> out = moves_on(plan, Lane::d2h), in = moves_on(plan, Lane::h2d);
  ASSERT_EQ(out.size(), 2u * 5u);
  ASSERT_EQ(in.size(), 2u * 5u);
  for (const Lane lane : {Lane::d2h, Lane::h2d}) {
    for (int32_t place : moves_on(plan, lane)) {
      const int32_t layer = plan.graphs[0].ops[size_t(ops[size_t(place) + 1].graph_op)].unit;
      for (size_t i = size_t(place) + 1; i < ops.size(); ++i) {
        const PlanOp& later = ops[i];
        if (later.kind != Kind::compute) continue;
        if (plan.graphs[0].ops[size_t(later.graph_op)].unit != layer) break;
        for (const Wait& wait : later.waits) {
          EXPECT_FALSE(wait.lane == lane && wait.count > ops[size_t(place)].index)
              << name_of(lane) << " op " << place << " is waited for at " << i;
        }
      }
    }
  }
}

// Both lie there and are as long, so only what they are tells them apart.
TEST(ActivationHomes, AnInputThatComesBackInPlaceOfAnotherIsFound) {
  Plan plan = plan_of(6, Tier::host);
  Body& step = plan.bodies[kStep];
  const std::vector<int32_t> in = moves_on(plan, Lane::h2d);
  Operand& first = step.ops[size_t(in[0])].operands[0];
  const Operand second = step.ops[size_t(in[1])].operands[0];
  ASSERT_EQ(first.bytes, second.bytes);
  EXPECT_TRUE(verify(plan).empty());
  first = second;
  place_waits(plan, step);
  EXPECT_THAT(verify(plan, 1), ElementsAre(HasSubstr("finds another tensor")));
}

TEST(ActivationHomes, OnlyTheStepMovesAny) {
  const Plan plain = plan_of(4, Tier::device), moved = plan_of(4, Tier::nvme);
  for (BodyId body : {kFinish, kEvaluate}) {
    EXPECT_EQ(moved.bodies[body].ops.size(), plain.bodies[body].ops.size());
  }
  EXPECT_GT(moved.bodies[kStep].ops.size(), plain.bodies[kStep].ops.size());
  EXPECT_NE(moved.hash(), plain.hash());
}

TEST(ActivationHomes, WithoutOverlapTheyTravelAllTheSame) {
  testing::TinyModel model = model_of(4);
  const Plan plan = testing::tiny_plan(
      {.overlap = false, .activation_home = Tier::nvme, .staged_activations = 1}, model);
  EXPECT_EQ(moves_on(plan, Lane::disk_write).size(), 3u);
  EXPECT_EQ(moves_on(plan, Lane::disk_read).size(), 3u);
}

TEST(ActivationHomes, NothingOnItsWayIsRefused) {
  EXPECT_THROW(testing::tiny_plan({.activation_home = Tier::host, .staged_activations = 0}), Error);
}

}  // namespace
}  // namespace zero::plan
