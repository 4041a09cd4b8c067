// Ranks: 1
// communication_data_type = "bf16": sums of several micro-batches are rounded for their way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/one_outcome.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::run {
namespace {

using testing::Outcome;

plan::Request request_of(int ranks, int stage, bool wire_bf16) {
  return {.stage = stage,
          .ranks = ranks,
          .micro_batches = 3,
          .compute = Dtype::bf16,
          .weight_decay = 0.1f,
          .wire_bf16 = wire_bf16};
}

TEST(Wire, InBf16StagesZeroAndOneAgreeUnderEverySchedule) {
  for (const int ranks : {2, 3, 4}) {
    OneOutcome one;
    for (const int stage : {0, 1}) {
      const plan::Request plain = request_of(ranks, stage, true);
      one.expect({plain});
      plan::Request other = plain;
      other.overlap = false;
      one.expect({other, graph::Recompute::full});
      other = plain;
      other.reduce_bucket_numel = other.gather_bucket_numel = 1000;
      one.expect({other, graph::Recompute::selective});
    }
    plan::Request host = request_of(ranks, 1, true);
    host.optimizer_home = plan::Tier::host;
    one.expect({host});
  }
}

TEST(Wire, RoundsSumsOfSeveralMicroBatchesAndNothingElse) {
  for (const int stage : {0, 1, 2, 3}) {
    for (const int micro_batches : {1, 3}) {
      plan::Request whole = request_of(2, stage, false), rounded = request_of(2, stage, true);
      whole.micro_batches = rounded.micro_batches = micro_batches;
      const bool same = testing::train(Case{whole}).state == testing::train(Case{rounded}).state;
      EXPECT_EQ(same, stage >= 2 || micro_batches == 1) << stage << ", " << micro_batches;
    }
    if (stage > 1) continue;
    EXPECT_TRUE(testing::train(Case{request_of(1, stage, true)}).state ==
                testing::train(Case{request_of(1, stage, false)}).state)
        << "nothing travels from one rank";
  }
}

/// Nats a counted token in the last of so many steps.
double last_loss(const plan::Request& request, int steps) {
  const Outcome outcome = testing::train(Case{.request = request, .steps = steps});
  kernels::StepSums last;
  std::memcpy(&last, outcome.sums.data() + outcome.sums.size() - sizeof last, sizeof last);
  const plan::Plan plan = testing::tiny_plan(request);
  return last.loss.value() / double(testing::tiny_inputs(plan, steps).counted_tokens);
}

TEST(Wire, InBf16TheLossStaysBesideThatOfFp32ForAHundredSteps) {
  constexpr int kSteps = 100;
  plan::Request fp32 = request_of(4, 0, false);
  const double whole = last_loss(fp32, kSteps), begun = last_loss(fp32, 1);
  fp32.compute = Dtype::f32;
  const double exact = last_loss(fp32, kSteps);
  const double rounded = last_loss(request_of(4, 0, true), kSteps);
  EXPECT_LT(whole, begun - 0.5) << "it learns";
  EXPECT_NEAR(rounded, whole, 1e-2) << "sums travel in fp32";
  EXPECT_NEAR(rounded, exact, 1e-2) << "all is fp32";
  EXPECT_NE(rounded, whole);
}

/// Bytes that one rank sends of gradients in a step, those of a loop as often as it runs.
int64_t gradient_bytes(const plan::Request& request) {
  const plan::Machine machine = plan::machine_profile("host", request.compute);
  const plan::Forecast forecast = plan::forecast(testing::tiny_plan(request), machine);
  const auto& [gathers, reductions, words] = forecast.collectives[plan::kStep];
  return reductions.bytes + (request.stage == 0 ? gathers.bytes : 0);
}

/// The last bucket of a unit lives until it has travelled.
TEST(Wire, InBf16HalvesTheBytesOfSumsAndTakesAtMostABucketMore) {
  for (const int stage : {0, 1}) {
    const plan::Request whole = request_of(4, stage, false), rounded = request_of(4, stage, true);
    EXPECT_EQ(2 * gradient_bytes(rounded), gradient_bytes(whole)) << "stage " << stage;
    const plan::Plan with = testing::tiny_plan(rounded), without = testing::tiny_plan(whole);
    int64_t bucket = 0;
    for (const plan::Unit& unit : with.units) bucket = std::max(bucket, 2 * unit.numel);
    constexpr size_t kDevice = size_t(plan::Tier::device);
    EXPECT_LE(with.arena_bytes[kDevice], without.arena_bytes[kDevice] + bucket) << stage;
  }
}

}  // namespace
}  // namespace zero::run
