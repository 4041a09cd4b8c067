// Ranks: 1
#include "src/advise/zero_formula.hpp"

#include <gtest/gtest.h>

namespace zero::advise {
namespace {

TEST(StateFormula, IsSixteenBytesAParameterInFp16WithoutSharding) {
  plan::Request request{.stage = 0, .ranks = 4, .compute = Dtype::f16};
  EXPECT_EQ(state_formula(request, 100).total(), 1600);
  request.stage = 1;  // 4 P + 12 P / N
  EXPECT_EQ(state_formula(request, 100).total(), 400 + 300);
  request.stage = 2;  // 2 P + 14 P / N
  EXPECT_EQ(state_formula(request, 100).total(), 200 + 350);
  request.stage = 3;  // 16 P / N
  EXPECT_EQ(state_formula(request, 100).total(), 400);
}

TEST(StateFormula, SplitMastersSaveTwoBytesInBf16) {
  EXPECT_EQ(state_formula({.compute = Dtype::bf16}, 100).total(), 1400);
  EXPECT_EQ(state_formula({.compute = Dtype::f32}, 100).total(), 1600);
}

TEST(StateFormula, SumsOfSeveralMicroBatchesRestInFp32) {
  EXPECT_EQ(state_formula({.micro_batches = 2, .compute = Dtype::bf16}, 100).gradients, 400);
  EXPECT_EQ(state_formula({.compute = Dtype::bf16, .gradient_fp32 = true}, 100).gradients, 400);
}

TEST(TrafficFormula, FollowsStageAndMicroBatches) {
  const auto total = [](int stage, bool reproducible) {
    const TrafficFormula formula = traffic_formula(
        {.stage = stage, .ranks = 2, .micro_batches = 3, .reproducible = reproducible}, 100);
    return formula.gathered + formula.reduced;
  };
  EXPECT_EQ(total(0, false), 100);          // 2 P
  EXPECT_EQ(total(1, false), 100);          // 2 P
  EXPECT_EQ(total(1, true), 50 * (3 + 1));  // (A + 1) P
  EXPECT_EQ(total(2, false), 50 * (3 + 1));
  EXPECT_EQ(total(3, false), 50 * (3 + 6));  // A P reduced, 2 A P gathered
}

TEST(ZeroFormulas, CountWeightsAloneOfWhatIsFrozen) {
  plan::Request request{.stage = 2, .ranks = 4, .compute = Dtype::f16};
  EXPECT_EQ(state_formula(request, 100, 60).total(), 200 + 14 * 10);  // 2 P + 14 (P - F) / N
  EXPECT_EQ(traffic_formula(request, 100, 60).gathered, 30);          // (P - F)(N-1)/N
  EXPECT_EQ(traffic_formula(request, 100, 60).reduced, 30);
  request.stage = 3;
  EXPECT_EQ(state_formula(request, 100, 60).total(), 50 + 14 * 10);
  EXPECT_EQ(traffic_formula(request, 100, 60).gathered, 2 * 75);
  EXPECT_EQ(traffic_formula(request, 100, 60).reduced, 30);
}

// Two groups of four: 800 parameters are weight shards of 200, and states of 100 a rank.
TEST(ZeroFormulas, CutWeightsWithinGroupsAndStatesOverAllRanks) {
  plan::Request request{.stage = 3, .ranks = 8, .group_ranks = 4, .micro_batches = 3};
  request.compute = Dtype::bf16;
  const StateFormula states = state_formula(request, 800);
  EXPECT_EQ(states.weights, 2 * 200);
  EXPECT_EQ(states.gradients, 4 * 100);
  EXPECT_EQ(states.optimizer, 10 * 100);
  EXPECT_EQ(traffic_formula(request, 800).gathered, 2 * 3 * 600 + 100);
  EXPECT_EQ(traffic_formula(request, 800).reduced, 3 * 600 + 100) << "crosses once";
  request.reproducible = true;
  EXPECT_EQ(traffic_formula(request, 800).reduced, 3 * 600 + 3 * 100) << "three times";
}

TEST(TrafficFormula, OneRankSendsNothing) {
  EXPECT_EQ(traffic_formula({.stage = 2}, 100).reduced, 0);
}

}  // namespace
}  // namespace zero::advise
