// Ranks: 1
// One rank's gradient overflows: every rank skips that attempt, keeps every state, and goes on.

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"

namespace zero::run {
namespace {

constexpr int kRanks = 4;

/// Puts an infinity into one rank's gradient, just before its squares are added, while `armed`.
class Injector {
 public:
  Injector(testing::ThreadRanks& machine, int rank) : machine_(machine), rank_(rank) {
    machine.executor(rank).set_op_hook([this](plan::Lane, const plan::PlanOp& op) {
      if (armed && op.kind == plan::Kind::sum_of_squares && op.unit == 1) inject(op);
    });
  }
  std::atomic<bool> armed{false};

 private:
  void inject(const plan::PlanOp& op) {
    const plan::Operand& gradient = op.operands[0];
    const int64_t begin = gradient.sharded ? rank_ * gradient.bytes : 0;
    std::byte* const first = machine_.bytes(rank_, gradient.buffer).data() + begin;
    switch (op.in) {
      case Dtype::bf16:
        *reinterpret_cast<bf16*>(first) = bf16(std::numeric_limits<float>::infinity());
        break;
      case Dtype::f16:
        *reinterpret_cast<f16*>(first) = f16(std::numeric_limits<float>::infinity());
        break;
      default:
        *reinterpret_cast<float*>(first) = std::numeric_limits<float>::infinity();
    }
  }

  testing::ThreadRanks& machine_;
  int rank_;
};

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// What each rank holds of unit 1's weights and momentum.
std::vector<std::vector<std::byte>> held(testing::ThreadRanks& machine, const plan::Plan& plan) {
  std::vector<std::vector<std::byte>> all;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int32_t buffer : {plan.units[1].weight, plan.units[1].states[0]}) {
      all.push_back(copy_of(machine.bytes(rank, buffer)));
    }
  }
  return all;
}

void expect_skip(Dtype compute, int stage) {
  SCOPED_TRACE(text(name_of(compute), " stage ", stage));
  const plan::Plan plan = testing::tiny_plan({.stage = stage, .ranks = kRanks, .compute = compute});
  Rules rules = testing::tiny_rules(compute);
  rules.decide.scaling.initial_scale = compute == Dtype::f16 ? 1024.0f : 1.0f;
  testing::ThreadRanks machine(plan, rules);
  testing::fill_states(machine, plan, rules);
  Injector injector(machine, 1);  // its shard of unit 1 begins within a tensor
  std::vector<std::vector<std::byte>> before;
  for (int64_t step = 1; step <= 4; ++step) {
    injector.armed = step == 2;
    const kernels::StepInputs inputs = testing::tiny_inputs(plan, step);
    testing::fill_batch(machine, plan, inputs.first_sample);
    machine.run(plan::kStep, inputs);
    if (step == 2) before = held(machine, plan);
    if (step == 3) {
      EXPECT_TRUE(held(machine, plan) == before);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto& state = *machine.view<kernels::StepState>(rank, plan.step_state);
      const int64_t updates[] = {0, 1, 1, 2};
      EXPECT_EQ(state.updates, updates[step - 1]) << "rank " << rank << " step " << step;
      EXPECT_EQ(state.report.skipped, step == 3) << "rank " << rank << " step " << step;
      const bool halved = compute == Dtype::f16 && step >= 3;
      EXPECT_EQ(state.loss_scale, compute != Dtype::f16 ? 1.0f : halved ? 512.0f : 1024.0f);
    }
  }
  EXPECT_FALSE(held(machine, plan) == before);
}

TEST(InjectedInfinity, EveryRankSkipsThatAttemptAndKeepsEveryState) {
  for (Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (int stage : {0, 1, 2, 3}) expect_skip(compute, stage);
  }
}

}  // namespace
}  // namespace zero::run
