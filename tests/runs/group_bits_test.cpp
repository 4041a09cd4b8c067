// Ranks: 1
// The promise of equal bits where weights are sharded in groups.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"

namespace zero::run {
namespace {

/// In groups of `group` of 4 or 8 ranks at stage 3.
Case in_groups(Dtype compute, int ranks, int group, int micro_batches) {
  Case c{.request = request_of(compute, ranks, 3, micro_batches), .steps = few_steps(compute)};
  c.request.group_ranks = group;
  return c;
}

Case whole(Dtype compute, int ranks, int stage, int micro_batches) {
  return {.request = request_of(compute, ranks, stage, micro_batches), .steps = few_steps(compute)};
}

// 1, 2, 4 and 8 micro-batches of a rank; three are no subtree, so they cross one by one.
TEST(Groups, TrainToTheBitsOfFullShardingAndOfStageZero) {
  for (const Dtype compute : kPrecisions) {
    for (const int micro_batches : {4, 8, 12, 16}) {
      OneOutcome one;
      one.expect(whole(compute, 1, 0, micro_batches));
      one.expect(whole(compute, 4, 3, micro_batches));
      one.expect(in_groups(compute, 4, 2, micro_batches));
    }
  }
}

TEST(Groups, OfAnySizeAreTheSameTraining) {
  for (const int micro_batches : {8, 16}) {
    OneOutcome one;
    one.expect(whole(Dtype::bf16, 1, 0, micro_batches));
    for (const int group : {2, 4, 8}) {
      one.expect(in_groups(Dtype::bf16, 8, group, micro_batches));
    }
  }
}

TEST(Groups, AreTheSameTrainingInALoopOfMicroBatches) {
  OneOutcome one;
  Case c = whole(Dtype::bf16, 4, 3, 32);
  one.expect(c);
  c.request.most_written = 4;
  one.expect(c);
  c.request.group_ranks = 2;
  one.expect(c);
  c.request.most_written = 0;
  one.expect(c);
  c = in_groups(Dtype::bf16, 4, 2, 28);
  OneOutcome odd;
  odd.expect(whole(Dtype::bf16, 4, 3, 28));
  odd.expect(c);
  c.request.most_written = 4;
  odd.expect(c);
}

TEST(Groups, ChangeNoBitAtAnyHome) {
  using plan::Tier;
  OneOutcome one;
  one.expect(whole(Dtype::bf16, 4, 3, 8));
  for (const Tier states : {Tier::device, Tier::host, Tier::nvme}) {
    for (const Tier weights : {Tier::device, Tier::host}) {
      for (const double on_device : {0.0, 1.0}) {
        if (states == Tier::device && on_device > 0) continue;
        Case c = in_groups(Dtype::bf16, 4, 2, 8);
        c.request.optimizer_home = states;
        c.request.weight_home = weights;
        c.request.device_update_share = on_device;
        one.expect(c);
      }
    }
  }
  Case ahead = in_groups(Dtype::bf16, 4, 2, 8);
  ahead.request.optimizer_home = Tier::host;
  ahead.request.speculated_share = 0.5;
  one.expect(ahead);
}

TEST(Groups, ChangeNoBitOfLambOfUnroundedGradientsOrOfShortPieces) {
  OneOutcome lamb, unrounded, pieces;
  for (const int group : {0, 2}) {
    Case c = in_groups(Dtype::bf16, 4, group, 8);
    c.request.reduce_bucket_numel = 1000;
    c.request.gather_bucket_numel = 600;
    pieces.expect(c);
    c = in_groups(Dtype::bf16, 4, group, 4);
    c.request.gradient_fp32 = true;
    unrounded.expect(c);
    c = in_groups(Dtype::f32, 4, group, 8);
    c.request.optimizer = form_of({.type = OptimizerType::LAMB});
    lamb.expect(c);
  }
}

// Without the promise of one tree, sums of groups may round otherwise. They are the same numbers.
TEST(Groups, TrainInDefaultModeToTheSameBitsAtAnyHome) {
  OneOutcome one;
  for (const plan::Tier states : {plan::Tier::device, plan::Tier::host}) {
    Case c = in_groups(Dtype::bf16, 4, 2, 12);
    c.request.reproducible = false;
    c.request.optimizer_home = states;
    one.expect(c);
    c.recompute = graph::Recompute::full;
    one.expect(c);
  }
}

}  // namespace
}  // namespace zero::run
