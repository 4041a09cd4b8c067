// Ranks: 1
// A fused graph is trained like any other; one kernel behind the other it gives the same bits.

#include <gtest/gtest.h>

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

TEST(FusedTraining, TakesLessMemoryForActivations) {
  plan::Request request;
  request.compute = Dtype::bf16;
  const auto bytes = [&](bool fused) {
    testing::TinyModel model{.evaluates = false, .fused = fused};
    model.micro.samples = 16;
    return testing::tiny_plan(request, model).arena_bytes[size_t(plan::Tier::device)];
  };
  EXPECT_LE(bytes(true), bytes(false));
}

}  // namespace
}  // namespace zero::run
