// Ranks: 1
#include <gtest/gtest.h>

#include <algorithm>

#include "src/compile/body_builder.hpp"
#include "src/compile/passes.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/compile/compile.hpp"
#include "zero/kernels/step_state.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

/// Nine units: an embedding and eight blocks.
testing::TinyModel nine_units() {
  testing::TinyModel model;
  model.gpt2.layers = 8;
  model.evaluates = false;
  return model;
}

Plan plan_with(double share, const Request& plain = {.stage = 1, .compute = Dtype::bf16}) {
  Request request = plain;
  request.optimizer_home = Tier::host;
  request.speculated_share = share;
  return testing::tiny_plan(request, nine_units());
}

std::vector<size_t> places_of(const Plan& plan, BodyId body, Kind kind) {
  std::vector<size_t> places;
  const std::vector<PlanOp>& ops = plan.bodies[body].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == kind) places.push_back(i);
  }
  return places;
}

// The last block's gradients are whole first.
TEST(Speculate, SpreadsAShareOfTheUnitsFromTheEndOn) {
  const Plan plan = plan_with(0.5);
  EXPECT_EQ(update_sites(plan).speculated, 5);
  for (size_t u = 0; u < plan.units.size(); ++u)
    EXPECT_EQ(plan.units[u].is_speculated(), u % 2 == 0) << u;
  EXPECT_EQ(update_sites(plan_with(0)).speculated, 0);
  EXPECT_EQ(update_sites(plan_with(1)).speculated, 9);
}

TEST(Speculate, UpdatesEachUnitBehindItsGradientInTheStepAlone) {
  const Plan plan = plan_with(1);
  const std::vector<PlanOp>& ops = plan.bodies[kStep].ops;
  EXPECT_EQ(places_of(plan, kStep, Kind::settle).size(), 9u);
  EXPECT_EQ(places_of(plan, kFinish, Kind::settle).size(), 9u);
  EXPECT_TRUE(places_of(plan, kFinish, Kind::speculate).empty());
  EXPECT_TRUE(places_of(plan, kStep, Kind::update).empty());
  const std::vector<size_t> made = places_of(plan, kStep, Kind::speculate);
  ASSERT_EQ(made.size(), 9u);
  for (const size_t place : made) {
    const int32_t gradient = plan.units[size_t(ops[place].unit)].gradient;
    const auto sent = std::ranges::find_if(ops, [&](const PlanOp& op) {
      return op.lane == Lane::d2h && op.operands[kTarget].buffer == gradient;
    });
    EXPECT_LT(size_t(sent - ops.begin()), place);
  }
  const bool backward_goes_on =
      std::any_of(ops.begin() + ptrdiff_t(made.front()), ops.end(),
                  [](const PlanOp& op) { return op.kind == Kind::compute; });
  EXPECT_TRUE(backward_goes_on);
}

// Only the last micro-batch leaves whole gradients.
TEST(Speculate, WaitsForTheLastMicroBatch) {
  for (const int micro_batches : {3, 40}) {
    const Plan plan = plan_with(
        1, {.stage = 2, .ranks = 2, .micro_batches = micro_batches, .compute = Dtype::bf16});
    const std::vector<size_t> made = places_of(plan, kStep, Kind::speculate);
    EXPECT_EQ(made.size(), 9u);
    EXPECT_GE(int32_t(made.front()), plan.bodies[kStep].loop.end);
    EXPECT_EQ(plan.bodies[kStep].loop.is_there(), micro_batches == 40);
  }
}

/// Bytes of host memory that second copies take, as a forecast of the plan's bytes has them.
int64_t second_bytes(const Plan& plan) {
  return forecast(plan, {}).bytes[size_t(Tier::host)][size_t(Use::speculation)];
}

TEST(Speculate, KeepsASecondCopyOfWeightLowAndStatesAndOneWordAUnit) {
  struct Row {
    Dtype compute;
    int64_t bytes;  ///< an element
  };
  for (const Row row : {Row{Dtype::f32, 12}, Row{Dtype::bf16, 12}, Row{Dtype::f16, 14}}) {
    const Plan plan = plan_with(1, {.stage = 2, .ranks = 2, .compute = row.compute});
    int64_t wanted = 0;
    for (const Unit& unit : plan.units) {
      for (const int32_t second : unit.second) {
        if (second < 0) continue;
        const Buffer& buffer = plan.buffers[size_t(second)];
        EXPECT_EQ(buffer.tier, Tier::host);
        wanted += buffer.bytes;
      }
      wanted -= row.bytes * unit.shard_numel;
    }
    EXPECT_EQ(wanted, 0);
    EXPECT_GT(second_bytes(plan), 9 * kPageBytes);
  }
  EXPECT_EQ(second_bytes(plan_with(0)), 0);
}

TEST(Speculate, IsRefusedWhereStatesOrWeightsRestElsewhereOrNormsAreNeeded) {
  const Request good{.stage = 3, .optimizer_home = Tier::host};
  EXPECT_TRUE(can_speculate(good));
  Request bad = good;
  bad.weight_home = Tier::host;
  EXPECT_FALSE(can_speculate(bad));
  bad = good;
  bad.optimizer_home = Tier::nvme;
  EXPECT_FALSE(can_speculate(bad));
  bad = good;
  bad.optimizer = form_of({.type = OptimizerType::LAMB});
  EXPECT_FALSE(can_speculate(bad));
  bad.speculated_share = 1;
  EXPECT_THROW(testing::tiny_plan(bad), Error);
}

/// The plan with one fault must be found unsafe.
void expect_noticed(Plan plan, const std::function<void(std::vector<PlanOp>&)>& break_step) {
  EXPECT_TRUE(verify(plan).empty());
  break_step(plan.bodies[kStep].ops);
  EXPECT_FALSE(verify(plan).empty());
}

PlanOp& first_of(std::vector<PlanOp>& ops, Kind kind) {
  return *std::ranges::find(ops, kind, &PlanOp::kind);
}

TEST(Speculate, VerifyNoticesAGuessThatIsSentUnsettledOrReadTooEarly) {
  const Plan plan = plan_with(1);
  const size_t second = second_operand(plan.request.optimizer);
  // The weight is sent although the op that settles it names another unit's.
  expect_noticed(plan, [&](std::vector<PlanOp>& ops) {
    first_of(ops, Kind::settle).operands[second] = first_of(ops, Kind::speculate).operands[second];
  });
  // It is no op that settles.
  expect_noticed(
      plan, [](std::vector<PlanOp>& ops) { first_of(ops, Kind::settle).kind = Kind::speculate; });
  // It does not wait for the decision, or for the weight.
  expect_noticed(plan, [](std::vector<PlanOp>& ops) { first_of(ops, Kind::settle).waits.clear(); });
  // A guess does not wait for the gradient.
  expect_noticed(plan,
                 [](std::vector<PlanOp>& ops) { first_of(ops, Kind::speculate).waits.clear(); });
  // The guess runs on another lane than what settles it.
  expect_noticed(
      plan, [](std::vector<PlanOp>& ops) { first_of(ops, Kind::speculate).lane = Lane::compute; });
}

/// An H200 and its host as `calibrate` found them (perf/results), where a step of 16,384 tokens of
/// 16 layers of width 4096 took 695 ms, and 1154 with its optimizer on the host.
Machine measured_h200() {
  return {.name = "measured",
          .product_flops = 5.67e14,
          .has_memory = true,
          .memory_bandwidth = 1.387e12,
          .host_bandwidth = 1.17e11,
          .copy_bandwidth = 5.5e10};
}

TEST(Speculate, OfSixteenLayersOf4096KeepsFourFifthsOfTheSpeedByForecast) {
  testing::TinyModel model{.gpt2 = {.layers = 16,
                                    .width = 4096,
                                    .heads = 32,
                                    .vocabulary = 50304,
                                    .positions = 1024,
                                    .dropout = 0.0f},
                           .micro = {.samples = 16, .length = 1024},
                           .recompute = graph::Recompute::full,
                           .evaluates = false};
  const Machine machine = measured_h200();
  Request request{.stage = 2, .compute = Dtype::bf16};
  const graph::Graph graph = testing::tiny_training_graph(model, Dtype::bf16);
  const double without = forecast(compile_unproved(request, graph, {}), machine).step_seconds;
  request.optimizer_home = Tier::host;
  request.device_update_share = device_update_share_for(request, graph, machine);
  const double plain = forecast(compile_unproved(request, graph, {}), machine).step_seconds;
  const UpdateShares shares = speculated_shares_for(request, graph, machine);
  request.device_update_share = shares.on_device;
  request.speculated_share = shares.speculated;
  const Plan ahead = compile(request, graph, {});
  const double speculated = forecast(ahead, machine).step_seconds;
  EXPECT_LT(without / plain, 0.80);
  EXPECT_GE(without / speculated, 0.80)
      << 1e3 * without << " ms, " << 1e3 * plain << ", " << 1e3 * speculated << " with shares "
      << shares.on_device << " and " << shares.speculated;
}

}  // namespace
}  // namespace zero::plan
