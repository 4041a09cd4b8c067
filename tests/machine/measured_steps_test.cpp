// Ranks: 1

#include "src/machine/measured_steps.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/support/rank_disk.hpp"
#include "tests/support/tiny_plans.hpp"

namespace zero::machine {
namespace {

/// The loss of each of four steps.
std::vector<double> losses(const plan::Request& request) {
  const plan::Plan plan = testing::tiny_plan(request);
  const std::unique_ptr<comm::Communicator> comm = comm::make_self();
  run::LaneComms lanes{};
  for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm.get();
  const bool on_disk = plan.arena_bytes[size_t(plan::Tier::nvme)] > 0;
  std::optional<testing::RankDisk> disk;
  if (on_disk) disk.emplace(plan);
  MeasuredSteps steps(plan, 0, lanes, on_disk ? disk->lanes() : run::LaneDisks{});
  std::vector<double> losses;
  for (int step = 0; step < 4; ++step) {
    EXPECT_GT(steps.step(), 0);
    losses.push_back(
        steps.executor().buffers().values<kernels::StepSums>(plan.step_sums())[0].loss.value());
  }
  EXPECT_GT(steps.finish(), 0);
  EXPECT_EQ(steps.executor().buffers().values<kernels::StepState>(plan.step_state)[0].updates, 4);
  return losses;
}

TEST(MeasuredSteps, LearnTheNextTokenAndTheSameWithStatesOnDisk) {
  const std::vector<double> in_memory = losses({.stage = 1});
  EXPECT_LT(in_memory.back(), in_memory.front());
  EXPECT_EQ(losses({.stage = 1, .optimizer_home = plan::Tier::nvme}), in_memory);
}

}  // namespace
}  // namespace zero::machine
