// Ranks: 1
// Every optimizer of one kind of update at every stage and home: no choice of these changes a bit.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/one_outcome.hpp"
#include "zero/config/optimizer_keys.hpp"

namespace zero::run {
namespace {

constexpr OptimizerConfig kForms[] = {
    {.type = OptimizerType::Lion, .betas = {0.9, 0.99}},
    {.type = OptimizerType::SGD},
    {.type = OptimizerType::SGD, .momentum = 0.9},
    {.type = OptimizerType::SGD, .momentum = 0.9, .nesterov = true},
};
constexpr Dtype kPrecisions[] = {Dtype::f32, Dtype::bf16, Dtype::f16};

Case case_of(const OptimizerConfig& form, Dtype compute, int ranks, int stage) {
  return {.request = {.stage = stage,
                      .ranks = ranks,
                      .micro_batches = 4 / ranks,
                      .compute = compute,
                      .optimizer = form_of(form),
                      .weight_decay = 0.1f,
                      .reproducible = true},
          .optimizer = form,
          .steps = compute == Dtype::f16 ? 14 : 6};
}

/// Homes of the optimizer's states, of the weights, and what share of the former is updated on the
/// device.
void expect_over_homes(OneOutcome& one, const Case& plain) {
  constexpr plan::Tier kAway[] = {plan::Tier::host, plan::Tier::nvme};
  for (const plan::Tier home : kAway) {
    for (const double share : {0.0, 0.5}) {
      Case moved = plain;
      moved.request.optimizer_home = home;
      moved.request.device_update_share = share;
      if (plain.request.stage == 3) moved.request.weight_home = home;
      one.expect(moved);
    }
  }
}

TEST(EveryOptimizer, HasTheSameBitsOnAllRanksStagesAndHomes) {
  for (const OptimizerConfig& form : kForms) {
    for (const Dtype compute : kPrecisions) {
      OneOutcome one;
      one.expect(case_of(form, compute, 1, 0));
      one.expect(case_of(form, compute, 4, 3));
      for (const int stage : {0, 1, 2, 3}) {
        const Case plain = case_of(form, compute, 2, stage);
        one.expect(plain);
        if (stage > 0) expect_over_homes(one, plain);
      }
    }
  }
}

TEST(EveryOptimizer, KeepsAsManyBytesAsItsStatesAndTheRestOfTheMaster) {
  for (const OptimizerConfig& form : kForms) {
    for (const Dtype compute : kPrecisions) {
      const plan::Plan plan = testing::tiny_plan(case_of(form, compute, 2, 1).request);
      const int64_t low = compute == Dtype::f32 ? 0 : compute == Dtype::bf16 ? 2 : 4;
      const bool has_state = form.type == OptimizerType::Lion || form.momentum > 0;
      int64_t wanted = 0, kept = 0;
      for (const plan::Unit& unit : plan.units) {
        wanted += unit.shard_numel * (low + (has_state ? 4 : 0));
        EXPECT_EQ(unit.states.size(), has_state ? 1u : 0u);
      }
      for (const plan::Buffer& buffer : plan.buffers) {
        if (buffer.use == plan::Use::optimizer) kept += buffer.bytes;
      }
      EXPECT_EQ(kept, wanted);
    }
  }
}

}  // namespace
}  // namespace zero::run
