// Ranks: 1
#include "src/run/prompt_thread.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "tests/support/hand_plan.hpp"
#include "zero/run/executor.hpp"

namespace zero::run {
namespace {

using plan::Lane;

/// What a request for the shortest slice makes of the usual one, which is 0 where the kernel knows
/// none.
uint64_t shortened(uint64_t usual) { return usual == 0 ? 0 : 100'000; }

TEST(PromptThread, ShortensItsSliceAndKeepsItsNiceness) {
  std::thread([] {
    const uint64_t usual = slice_of_thread();
    setpriority(PRIO_PROCESS, id_t(gettid()), 7);
    wake_promptly();
    EXPECT_EQ(getpriority(PRIO_PROCESS, id_t(gettid())), 7);
    EXPECT_EQ(slice_of_thread(), shortened(usual));
  }).join();
}

TEST(PromptThread, LanesThatWaitHaveShortSlicesAndLanesThatComputeKeepTheirs) {
  testing::HandPlan hand;
  hand.clear(hand.keep("a", 8), Lane::compute);
  hand.clear(hand.keep("b", 8), Lane::gather);
  hand.clear(hand.keep("c", 8), Lane::host_optimizer);
  const uint64_t usual = slice_of_thread();
  Executor executor(hand.plan, {}, {});
  executor.set_op_hook([usual](Lane lane, const plan::PlanOp&) {
    EXPECT_EQ(slice_of_thread(), lane == Lane::gather ? shortened(usual) : usual);
  });
  executor.run(plan::kStep, {});
}

}  // namespace
}  // namespace zero::run
