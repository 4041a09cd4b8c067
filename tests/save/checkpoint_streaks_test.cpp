// Ranks: 1
#include "src/save/checkpoint_streaks.hpp"

#include <gtest/gtest.h>

#include "zero/save/checkpoint_facts.hpp"

namespace zero::save {
namespace {

kernels::StepState skipped(int32_t in_row) {
  kernels::StepState state{};
  state.skipped_in_row = in_row;
  return state;
}

TEST(Streaks, AreCountedUnlessADynamicLossScaleSkipsByDesign) {
  RunConfig config;
  EXPECT_EQ(streak_mark(config, 9, skipped(3)).skipped, 3);
  EXPECT_TRUE(streak_mark(config, 9, skipped(0)).is_healthy());
  config.fp16.enabled = true;
  EXPECT_TRUE(streak_mark(config, 9, skipped(3)).is_healthy());
  kernels::StepState at_the_least = skipped(3);
  at_the_least.report.scale_exhausted = 1;
  EXPECT_EQ(streak_mark(config, 9, at_the_least).skipped, 3);
  config.fp16.loss_scale = 128;
  EXPECT_EQ(streak_mark(config, 9, skipped(3)).skipped, 3);
}

StreakMark read_back(const Facts& facts) {
  checkpoint::Manifest manifest;
  manifest.step = 9;
  manifest.facts = facts;
  return streak_in(manifest);
}

TEST(Streaks, AreAFactOfACheckpoint) {
  for (const int32_t in_row : {0, 3}) {
    Facts facts;
    add_state(skipped(in_row), facts);
    add_streak({.step = 9, .skipped = in_row}, facts);
    EXPECT_EQ(facts.at("healthy"), in_row ? "false" : "true");
    EXPECT_EQ(read_back(facts).skipped, in_row);
  }
}

TEST(Streaks, OfAnOlderReleaseAreItsCountOfSkippedSteps) {
  Facts facts;
  add_state(skipped(3), facts);
  EXPECT_EQ(read_back(facts).skipped, 3);
  facts["compute"] = "fp16";
  EXPECT_TRUE(read_back(facts).is_healthy()) << "its scale may have been dynamic";
  EXPECT_TRUE(read_back({}).is_healthy()) << "it says nothing";
}

TEST(Streaks, BeginBehindACheckpointThatDoesNotLeadOutOfThem) {
  using Marks = std::vector<StreakMark>;
  EXPECT_EQ(newest_proven(Marks{}), std::nullopt);
  EXPECT_EQ(newest_proven(Marks{{4}}), std::nullopt) << "no step was taken from it yet";
  EXPECT_EQ(newest_proven(Marks{{4}, {5}}), 4);
  EXPECT_EQ(newest_proven(Marks{{4}, {5}, {6, 1}}), 4)
      << "step 6 was skipped with the weights of 5";
  EXPECT_EQ(newest_proven(Marks{{4}, {8, 4}}), std::nullopt);
  EXPECT_EQ(newest_proven(Marks{{4}, {8, 3}}), 4) << "step 5 was applied";
  EXPECT_EQ(newest_proven(Marks{{4}, {5}, {6, 1}, {7}}), 4) << "the streak is over, 7 untried";
  EXPECT_EQ(newest_proven(Marks{{4}, {5}, {6, 1}, {7}, {8}}), 7);
}

TEST(Streaks, AreLeftByTheNewestHealthyCheckpointWhereNoneIsProven) {
  using Marks = std::vector<StreakMark>;
  EXPECT_EQ(before_streak(Marks{{4}, {5}, {6, 1}}), 4);
  EXPECT_EQ(before_streak(Marks{{1}, {2, 1}, {3, 2}}), 1);
  EXPECT_EQ(before_streak(Marks{{2, 1}, {3, 2}}), std::nullopt);
}

}  // namespace
}  // namespace zero::save
