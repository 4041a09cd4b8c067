// Ranks: 1
// More ranks than one pass of the tree over ranks adds: their sums go by groups of 64.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::run {
namespace {

constexpr int kMicroBatches = 256;

/// One layer, whose 256 micro-batches of a step are shared by the ranks.
plan::Plan plan_on(int ranks) {
  testing::TinyModel model;
  model.gpt2.layers = 1;
  model.evaluates = false;
  return testing::tiny_plan({.stage = 3,
                             .ranks = ranks,
                             .micro_batches = kMicroBatches / ranks,
                             .compute = Dtype::bf16,
                             .weight_decay = 0.1f,
                             .reproducible = true},
                            model);
}

testing::Outcome train_on(int ranks) {
  const plan::Plan plan = plan_on(ranks);
  testing::ThreadRanks machine(plan, testing::tiny_rules(Dtype::bf16));
  return testing::train(machine, plan, 2);
}

TEST(ManyRanks, TrainToTheBytesOfFourRanks) {
  const testing::Outcome few = train_on(4), many = train_on(256);
  EXPECT_TRUE(few.sums == many.sums);
  EXPECT_TRUE(few.decided == many.decided);
  EXPECT_TRUE(few.state == many.state);
}

TEST(ManyRanks, PlanTheRoomForTheSumsOfTheirGroups) {
  for (const int ranks : {64, 128, 256}) {
    const plan::Plan plan = plan_on(ranks);
    int64_t reductions = 0;
    for (const plan::PlanOp& op : plan.bodies[plan::kStep].ops) {
      if (op.kind != plan::Kind::reduce_scatter) continue;
      const plan::Operand& sums = op.operands.at(2);
      const int64_t bytes = kernels::group_sums(ranks) * op.piece_numel * 4;
      EXPECT_EQ(sums.buffer >= 0, bytes > 0) << ranks << " ranks";
      EXPECT_EQ(sums.bytes, bytes) << ranks << " ranks";
      ++reductions;
    }
    EXPECT_GT(reductions, 0);
  }
}

}  // namespace
}  // namespace zero::run
