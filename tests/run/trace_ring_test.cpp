// Ranks: 1
#include "src/run/trace_ring.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/hand_plan.hpp"

namespace zero::run {
namespace {

using namespace std::chrono_literals;
using plan::kStep;
using plan::Lane;

double seconds_of(const OpTime& time) {
  return std::chrono::duration<double>(time.end - time.begin).count();
}

/// Two ops on compute and one on reduce.
struct ThreeOps {
  testing::HandPlan hand;
  ThreeOps() {
    const int32_t a = hand.keep("a", 8), b = hand.keep("b", 8);
    hand.clear(a);
    hand.clear(b, Lane::reduce);
    hand.accumulate(b, a, false).waits = {{Lane::reduce, 1}};
  }
};

TEST(TraceRing, KeepsTheLastBodies) {
  ThreeOps ops;
  TraceRing ring(ops.hand.plan, 2);
  EXPECT_TRUE(ring.bodies().empty());
  for (int64_t step = 1; step <= 5; ++step) {
    EXPECT_NE(ring.begin(kStep, step)[0], nullptr);
    ring.end(kStep);
  }
  const std::vector<TracedBody> kept = ring.bodies();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].step, 4);
  EXPECT_EQ(kept[1].step, 5);
  EXPECT_LE(kept[0].whole.end, kept[1].whole.begin);
}

TEST(TraceRing, LeavesEvaluationsOut) {
  ThreeOps ops;
  TraceRing ring(ops.hand.plan, 2);
  ring.begin(kStep, 1);
  ring.end(kStep);
  EXPECT_EQ(ring.begin(plan::kEvaluate, 1)[0], nullptr);
  ring.end(plan::kEvaluate);
  EXPECT_EQ(ring.bodies().size(), 1u);
}

TEST(TraceRing, OpsOfALaneFollowEachOtherAndAddUpToTheProfile) {
  ThreeOps ops;
  Executor executor(ops.hand.plan, {}, {});
  executor.run(kStep, {});
  EXPECT_TRUE(executor.trace().empty()) << "unless asked for";
  executor.clear_profile();
  executor.keep_trace(3);
  executor.set_op_hook([](Lane, const plan::PlanOp&) { std::this_thread::sleep_for(2ms); });
  kernels::StepInputs inputs{};
  inputs.step = 9;
  executor.run(kStep, inputs);
  const std::vector<TracedBody> kept = executor.trace();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].step, 9);
  const auto compute = kept[0].ops[size_t(Lane::compute)];
  const auto reduce = kept[0].ops[size_t(Lane::reduce)];
  ASSERT_EQ(compute.size(), 2u);
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_LE(kept[0].whole.begin, compute[0].begin);
  EXPECT_LE(compute[0].end, compute[1].begin);
  EXPECT_LE(reduce[0].end, compute[1].begin) << "which waits for it";
  EXPECT_LE(compute[1].end, kept[0].whole.end);
  double traced = 0, profiled = 0;
  for (const OpTime& time : compute) traced += seconds_of(time);
  for (const OpTime& time : reduce) traced += seconds_of(time);
  for (const Executor::Profile& line : executor.profile()) profiled += line.seconds;
  EXPECT_GT(traced, 0.006);
  EXPECT_NEAR(traced, profiled, 1e-9);
}

}  // namespace
}  // namespace zero::run
