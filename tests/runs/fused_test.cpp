// Ranks: 1
// A fused graph is trained like any other; one kernel behind the other it gives the same bits.
// Products that add to sums themselves give other ones, alike wherever a rank sums alone.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"

namespace zero::run {
namespace {

using graph::Recompute;

testing::Outcome train(const plan::Request& request, Recompute recompute, bool fused) {
  testing::TinyModel model;
  model.recompute = recompute;
  model.fused = fused;
  const plan::Plan plan = testing::tiny_plan(request, model);
  testing::ThreadRanks machine(plan, testing::tiny_rules(request.compute));
  return testing::train(machine, plan, 6);
}

TEST(FusedTraining, HasTheBitsOfTheOpsOneByOneAtEveryStageAndRecomputeChoice) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (int stage : {0, 1, 2, 3}) {
      const plan::Request request{
          .stage = stage, .ranks = 2, .micro_batches = 2, .compute = compute};
      const testing::Outcome expected = train(request, Recompute::none, false);
      for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        SCOPED_TRACE(text(name_of(compute), ", stage ", stage, ", recompute ", int(recompute)));
        const testing::Outcome outcome = train(request, recompute, true);
        EXPECT_TRUE(outcome.sums == expected.sums);
        EXPECT_TRUE(outcome.decided == expected.decided);
        EXPECT_TRUE(outcome.state == expected.state);
        EXPECT_EQ(outcome.evaluation, expected.evaluation);
      }
    }
  }
}

// The copies of weights whose heads end with zeros are made where they are used, from what a rank
// holds or has gathered.
TEST(FusedTraining, OfWiderHeadsHasTheSameBitsAtEveryStageAndRecomputeChoice) {
  const auto outcome = [](int stage, Recompute recompute) {
    testing::TinyModel model{.recompute = recompute, .fused = true, .head_unit = 12};
    const plan::Request request{
        .stage = stage, .ranks = 2, .micro_batches = 2, .compute = Dtype::bf16};
    const plan::Plan plan = testing::tiny_plan(request, model);
    testing::ThreadRanks machine(plan, testing::tiny_rules(request.compute));
    return testing::train(machine, plan, 6);
  };
  const testing::Outcome expected = outcome(0, Recompute::none);
  for (int stage : {0, 1, 2, 3}) {
    for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      SCOPED_TRACE(text("stage ", stage, ", recompute ", int(recompute)));
      const testing::Outcome other = outcome(stage, recompute);
      EXPECT_TRUE(other.sums == expected.sums);
      EXPECT_TRUE(other.state == expected.state);
      EXPECT_EQ(other.evaluation, expected.evaluation);
    }
  }
}

// The gradient between a product and the GELU in front of it is not stored.
TEST(FusedTraining, TakesLessMemoryForActivations) {
  plan::Request request;
  request.compute = Dtype::bf16;
  const auto bytes = [&](bool fused) {
    testing::TinyModel model{.recompute = Recompute::full, .evaluates = false, .fused = fused};
    model.micro.samples = model.gpt2.width = 64;
    return testing::tiny_plan(request, model).arena_bytes[size_t(plan::Tier::device)];
  };
  EXPECT_LT(bytes(true), bytes(false));
}

plan::Request summed(Dtype compute, int stage, bool in_products) {
  return {.stage = stage,
          .ranks = 2,
          .micro_batches = 3,
          .compute = compute,
          .sums_in_products = in_products};
}

TEST(SumsInProducts, GiveStagesZeroAndOneTheSameBitsWhateverIsRecomputedOrOverlaps) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const testing::Outcome expected = train(summed(compute, 0, true), Recompute::none, false);
    for (int stage : {0, 1}) {
      for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        SCOPED_TRACE(text(name_of(compute), ", stage ", stage, ", recompute ", int(recompute)));
        plan::Request request = summed(compute, stage, true);
        request.overlap = recompute != Recompute::full;
        if (stage == 1) request.optimizer_home = plan::Tier::host;
        const testing::Outcome outcome = train(request, recompute, true);
        EXPECT_TRUE(outcome.sums == expected.sums);
        EXPECT_TRUE(outcome.state == expected.state);
        EXPECT_EQ(outcome.evaluation, expected.evaluation);
      }
    }
  }
}

/// Squares of the gradient of the first step.
double first_squares(const testing::Outcome& outcome) {
  kernels::StepSums sums;
  std::memcpy(&sums, outcome.sums.data(), sizeof sums);
  return sums.grad_squares.value();
}

// In fp32 at most the order of additions differs; in bf16 a gradient is not rounded before it is
// added: at most 2^-8 of each element, of either sign.
TEST(SumsInProducts, AreTheSumsOfWhatTheOpsOneByOneGive) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16}) {
    const auto apart = train(summed(compute, 0, false), Recompute::none, false);
    const auto inside = train(summed(compute, 0, true), Recompute::none, false);
    const double bound = compute == Dtype::f32 ? 1e-6 : 1e-2;
    EXPECT_GT(first_squares(apart), 0);
    EXPECT_NEAR(first_squares(inside), first_squares(apart), bound * first_squares(apart));
    EXPECT_NEAR(inside.evaluation, apart.evaluation, bound * apart.evaluation);
    EXPECT_TRUE(compute == Dtype::f32 || inside.state != apart.state) << "another arithmetic";
  }
}

}  // namespace
}  // namespace zero::run
