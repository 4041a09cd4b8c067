// Ranks: 1
#include "src/replay/replay_causes.hpp"

#include <gtest/gtest.h>

namespace zero::replay {
namespace {

constexpr const char* kOtherThreads =
    "arithmetic: oneDNN 3.4, AVX2, 1 threads a rank, now oneDNN 3.4, AVX2, 2 threads a rank";
constexpr const char* kOtherSteps = "run.steps = 12, now 14";

TEST(Causes, LeavesOutWhatChangesNoBit) {
  const RunConfig config;
  for (const char* change : {"train_batch_size = 0, now 4", "data.train = \"a\", now \"b\""})
    EXPECT_FALSE(may_change_bits(change, config)) << change;
  for (const char* change : {"optimizer.lr = 0.01, now 0.02", "data: a, now b",
                             "data.train_on = \"all\", now \"answers\""})
    EXPECT_TRUE(may_change_bits(change, config)) << change;
}

TEST(Causes, TakesThreadsForOneUnlessReproducible) {
  RunConfig config;
  EXPECT_TRUE(may_change_bits(kOtherThreads, config));
  config.numerics.reproducible = true;
  EXPECT_FALSE(may_change_bits(kOtherThreads, config));
  EXPECT_TRUE(may_change_bits(
      "arithmetic: oneDNN 3.4, AVX2, 1 threads a rank, now oneDNN 3.4, AVX512, 1 threads a rank",
      config));
}

TEST(Causes, TakesTheNumberOfStepsForOneIfTheScheduleEndsThere) {
  RunConfig config;
  config.scheduler.type = ScheduleType::WarmupLR;
  EXPECT_FALSE(may_change_bits(kOtherSteps, config));
  config.scheduler.type = ScheduleType::WarmupDecayLR;
  EXPECT_TRUE(may_change_bits(kOtherSteps, config));
  config.scheduler.total_num_steps = 20;
  EXPECT_FALSE(may_change_bits(kOtherSteps, config));
}

}  // namespace
}  // namespace zero::replay
