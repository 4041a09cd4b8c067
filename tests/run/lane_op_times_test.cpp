// Ranks: 1

#include "src/run/lane_op_times.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tests/support/hand_plan.hpp"
#include "tests/support/tiny_plans.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

/// Ops of each phase in a body of a tiny model's plan.
std::array<int, kPhases> count(const plan::Plan& plan, plan::BodyId body) {
  std::array<int, kPhases> counts{};
  for (const plan::PlanOp& op : plan.bodies[body].ops) ++counts[size_t(phase_of(plan, body, op))];
  return counts;
}

int of(const std::array<int, kPhases>& counts, Phase phase) { return counts[size_t(phase)]; }

TEST(Phases, computing_activations_again_belongs_to_backward) {
  const plan::Plan keeps = testing::tiny_plan({.stage = 0, .ranks = 1});
  const plan::Plan repeats =
      testing::tiny_plan({.stage = 0, .ranks = 1}, {.recompute = graph::Recompute::full});
  const auto kept = count(keeps, plan::kStep), repeated = count(repeats, plan::kStep);
  EXPECT_EQ(of(kept, Phase::forward), of(repeated, Phase::forward));
  EXPECT_LT(of(kept, Phase::backward), of(repeated, Phase::backward));
}

TEST(Phases, activations_leave_in_the_forward_pass_and_come_back_in_the_backward_pass) {
  testing::TinyModel model{.recompute = graph::Recompute::full};
  const auto kept = count(testing::tiny_plan({}, model), plan::kStep);
  const auto moved = count(
      testing::tiny_plan({.activation_home = plan::Tier::nvme, .staged_activations = 1}, model),
      plan::kStep);
  // Two hops each way, for the first of two blocks.
  EXPECT_EQ(of(moved, Phase::forward), of(kept, Phase::forward) + 2);
  EXPECT_EQ(of(moved, Phase::backward), of(kept, Phase::backward) + 2);
  EXPECT_EQ(of(moved, Phase::optimizer), of(kept, Phase::optimizer));
}

TEST(Phases, only_weights_are_gathered_and_whole_gradients_are_reduced) {
  const auto whole = count(testing::tiny_plan({.stage = 0, .ranks = 2}), plan::kStep);
  const auto sharded = count(testing::tiny_plan({.stage = 3, .ranks = 2}), plan::kStep);
  EXPECT_EQ(of(whole, Phase::gather), 0);
  EXPECT_GT(of(whole, Phase::reduce), 0);
  EXPECT_GT(of(sharded, Phase::gather), 0);
}

TEST(Phases, finishing_a_step_is_all_optimizer_where_nothing_is_sent) {
  const auto counts = count(testing::tiny_plan({.stage = 0, .ranks = 1}), plan::kFinish);
  EXPECT_GT(of(counts, Phase::optimizer), 0);
  EXPECT_EQ(of(counts, Phase::forward) + of(counts, Phase::backward), 0);
}

TEST(Phases, evaluations_are_no_part_of_a_step) {
  const plan::Plan plan = testing::tiny_plan({.stage = 0, .ranks = 1});
  EXPECT_EQ(of(count(plan, plan::kEvaluate), Phase::none),
            int(plan.bodies[plan::kEvaluate].ops.size()));
}

TEST(Phases, the_executor_adds_up_the_time_of_each) {
  testing::HandPlan hand;
  hand.accumulate(hand.keep("from", 8), hand.keep("to", 8), false);
  Executor executor(hand.plan, {}, {});
  executor.run(plan::kStep, {});
  const PhaseSeconds once = executor.phase_seconds();
  EXPECT_GT(once[size_t(Phase::reduce)], 0);
  EXPECT_EQ(once[size_t(Phase::forward)], 0);
  EXPECT_EQ(once[size_t(Phase::reduce)], executor.profile()[0].seconds);
  executor.clear_profile();
  EXPECT_EQ(executor.phase_seconds()[size_t(Phase::reduce)], 0);
}

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
