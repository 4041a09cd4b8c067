// Ranks: 1
// The promise of equal bits, as one matrix: which choices change no bit of a training.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

TEST(Reproducible, RanksStagesAndRecomputeChangeNoBitInTwentySteps) {
  for (Dtype compute : kPrecisions) {
    OneOutcome one;
    for (int ranks : {1, 2, 4}) {
      for (int stage : {0, 1, 2, 3}) {
        one.expect({request_of(compute, ranks, stage, 8)});
        one.expect({request_of(compute, ranks, stage, 8), graph::Recompute::full});
        if (stage % 3 != 0) continue;
        one.expect({.request = request_of(compute, ranks, stage, 8), .blocks = kFirstBlock});
      }
    }
  }
}

TEST(Reproducible, TwelveMicroBatchesLeaveACarryAndStillAgree) {
  for (Dtype compute : kPrecisions) {
    OneOutcome one;
    for (int ranks : {1, 2, 4}) {
      for (int stage : {0, 1, 2, 3}) {
        Case c{.request = request_of(compute, ranks, stage, 12), .steps = few_steps(compute)};
        one.expect(c);
        c.recompute = graph::Recompute::full;
        one.expect(c);
      }
    }
  }
}

TEST(Reproducible, EightRanksAreTheSameTraining) {
  for (Dtype compute : kPrecisions) {
    OneOutcome one;
    one.expect({request_of(compute, 1, 0, 8)});
    for (int stage : {0, 3}) one.expect({request_of(compute, 8, stage, 8)});
  }
}

TEST(Reproducible, LambSeesWholeTensorsWhateverTheSharding) {
  for (Dtype compute : kPrecisions) {
    OneOutcome one;
    for (int ranks : {1, 2, 4}) {
      for (int stage : {0, 3}) {
        Case c{request_of(compute, ranks, stage, 8)};
        c.request.optimizer = form_of({.type = OptimizerType::LAMB});
        one.expect(c);
      }
    }
  }
}

TEST(Reproducible, UnroundedGradientsAgreeToo) {
  OneOutcome one;
  for (int ranks : {1, 2, 4}) {
    for (int stage : {0, 1, 2, 3}) {
      Case c{request_of(Dtype::bf16, ranks, stage, 8)};
      c.request.gradient_fp32 = true;
      one.expect(c);
    }
  }
}

TEST(Reproducible, BucketsPrefetchAndOverlapChangeNoBit) {
  for (int stage : {0, 1, 2, 3}) {
    OneOutcome one;
    const Case plain{request_of(Dtype::bf16, 2, stage, 4)};
    one.expect(plain);
    Case other = plain;
    other.request.overlap = false;
    one.expect(other);
    other = plain;
    other.request.reduce_bucket_numel = 1000;
    other.request.gather_bucket_numel = 600;
    one.expect(other);
    other = plain;
    other.request.prefetch_numel = 0;
    other.request.keep_distance_numel = 1'000'000'000;
    one.expect(other);
  }
}

TEST(Reproducible, Fp16SkipsByItselfInThisMatrix) {
  const plan::Plan plan = testing::tiny_plan(request_of(Dtype::f16, 1, 0, 8));
  testing::ThreadRanks machine(plan, testing::tiny_rules(Dtype::f16));
  testing::train(machine, plan, testing::kSteps);
  const auto* state = machine.view<kernels::StepState>(0, plan.step_state);
  EXPECT_LT(state->updates, testing::kSteps);
  EXPECT_GT(state->updates, 0);
}

}  // namespace
}  // namespace zero::run
