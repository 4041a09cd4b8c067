// Ranks: 1

#include "zero/config/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/tree_folder.hpp"

namespace zero {
namespace {

Schedule schedule(ScheduleType type, int64_t warmup_steps, int64_t total) {
  Schedule s;
  s.lr = 2;
  s.config.type = type;
  s.config.warmup_num_steps = warmup_steps;
  s.config.warmup_max_lr = 2;
  s.config.total_num_steps = total;
  return s;
}

TEST(Schedule, ConstantIsTheRateOfTheOptimizer) {
  const Schedule s = schedule(ScheduleType::constant, 10, 10);
  EXPECT_EQ(s.rate(0), 2.0f);
  EXPECT_EQ(s.rate(1'000'000), 2.0f);
}

TEST(Schedule, LinearWarmUpStartsTwiceAtTheMinimumAsDeepSpeedDoes) {
  Schedule s = schedule(ScheduleType::WarmupLR, 4, 0);
  EXPECT_EQ(s.rate(0), 0.0f);
  EXPECT_EQ(s.rate(1), 0.0f);
  EXPECT_EQ(s.rate(2), 0.5f);
  EXPECT_EQ(s.rate(4), 1.5f);
  EXPECT_EQ(s.rate(5), 2.0f);
  EXPECT_EQ(s.rate(500), 2.0f);
  s.config.warmup_min_lr = 1;
  EXPECT_EQ(s.rate(0), 1.0f);
  EXPECT_EQ(s.rate(3), 1.5f);
}

TEST(Schedule, LogarithmicWarmUpReachesHalfAtTheRootOfItsSteps) {
  Schedule s = schedule(ScheduleType::WarmupLR, 16, 0);
  s.config.warmup_type = WarmupType::log;
  EXPECT_EQ(s.rate(1), 0.0f);
  EXPECT_FLOAT_EQ(s.rate(2), 0.5f);  // ln 2 / ln 16 = 1/4
  EXPECT_FLOAT_EQ(s.rate(4), 1.0f);  // ln 4 / ln 16 = 1/2
  EXPECT_FLOAT_EQ(s.rate(16), 2.0f);
  EXPECT_FLOAT_EQ(s.rate(17), 2.0f);
}

TEST(Schedule, WarmUpTakesAtLeastTwoSteps) {
  const Schedule s = schedule(ScheduleType::WarmupLR, 0, 0);
  EXPECT_EQ(s.rate(1), 0.0f);
  EXPECT_EQ(s.rate(2), 1.0f);
  EXPECT_EQ(s.rate(3), 2.0f);
}

TEST(Schedule, DecayFallsLinearlyToTheMinimumAndStaysThere) {
  Schedule s = schedule(ScheduleType::WarmupDecayLR, 4, 12);
  EXPECT_EQ(s.rate(5), 2.0f);  // t = 4: (12 - 4) / 8
  EXPECT_EQ(s.rate(9), 1.0f);  // t = 8: 4 / 8
  EXPECT_EQ(s.rate(12), 0.25f);
  EXPECT_EQ(s.rate(13), 0.0f);
  EXPECT_EQ(s.rate(20), 0.0f);
  s.config.warmup_min_lr = 1;
  EXPECT_EQ(s.rate(9), 1.5f);
}

TEST(Schedule, DecayShorterThanItsWarmUpNeverReachesTheMaximum) {
  const Schedule s = schedule(ScheduleType::WarmupDecayLR, 100, 25);
  EXPECT_EQ(s.rate(24), 0.46f);  // t = 23: 2 x 23 / 100
  EXPECT_TRUE(std::isfinite(s.rate(101)));
}

TEST(Schedule, CosineStartsAtZeroThenAtItsRatioAndEndsAtItsRatio) {
  Schedule s = schedule(ScheduleType::WarmupCosineLR, 4, 12);
  s.config.warmup_min_ratio = 0.5;
  s.config.cos_min_ratio = 0.1;
  EXPECT_EQ(s.rate(0), 0.0f);
  EXPECT_EQ(s.rate(1), 1.0f);         // ratio 0.5
  EXPECT_EQ(s.rate(3), 1.5f);         // t = 2: 0.5 + 0.5 x 2/4
  EXPECT_FLOAT_EQ(s.rate(8), 1.1f);   // t = 7: cos(pi/2) = 0, ratio 0.1 + 0.9/2
  EXPECT_FLOAT_EQ(s.rate(12), 0.2f);  // t = 11: cos(pi) = -1
}

TEST(Schedule, CosineBeginsToFallOneStepAfterTheWarmUpAsDeepSpeedDoes) {
  Schedule s = schedule(ScheduleType::WarmupCosineLR, 4, 12);
  s.config.cos_min_ratio = 0;
  const double expected = 2 * (1 + std::cos(M_PI / 8)) / 2;  // t = 4: one eighth of the way
  EXPECT_EQ(s.rate(5), float(expected));
}

TEST(Schedule, CosineStaysAtItsEnd) {
  Schedule s = schedule(ScheduleType::WarmupCosineLR, 4, 12);
  s.config.cos_min_ratio = 0.5;
  EXPECT_FLOAT_EQ(s.rate(12), 1.0f);
  EXPECT_FLOAT_EQ(s.rate(16), 1.0f);
}

/// One schedule of tests/golden/schedules.txt.
struct GoldenSchedule {
  std::string name;  ///< "WarmupLR log 40"
  Schedule schedule;
  std::vector<double> rates;  ///< by update
};

ScheduleType type_of(const std::string& name) {
  if (name == "WarmupLR") return ScheduleType::WarmupLR;
  if (name == "WarmupDecayLR") return ScheduleType::WarmupDecayLR;
  return name == "WarmupCosineLR" ? ScheduleType::WarmupCosineLR : ScheduleType::constant;
}

/// A line such as "schedule WarmupLR log 40", with the settings that all schedules share.
GoldenSchedule open_schedule(const std::string& line) {
  std::istringstream words(line);
  std::string word, type, ramp;
  int64_t warmup = 0;
  words >> word >> type >> ramp >> warmup;
  return {
      .name = line,
      .schedule = {.config = {.type = type_of(type),
                              .warmup_type = ramp == "log" ? WarmupType::log : WarmupType::linear,
                              .warmup_num_steps = warmup,
                              .warmup_min_lr = 1e-5,
                              .warmup_max_lr = 3e-4,
                              .total_num_steps = 280,
                              .warmup_min_ratio = 0.05,
                              .cos_min_ratio = 0.1},
                   .lr = 6e-4},
      .rates = {}};
}

std::vector<GoldenSchedule> golden_schedules() {
  std::ifstream file(testing_support::tree_folder() / "tests/golden/schedules.txt");
  std::vector<GoldenSchedule> schedules;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("schedule")) {
      schedules.push_back(open_schedule(line));
    } else {
      schedules.back().rates.push_back(std::stod(line));
    }
  }
  return schedules;
}

TEST(Schedule, GivesTheGoldenRatesOfEverySchedulerForThreeHundredUpdates) {
  const std::vector<GoldenSchedule> schedules = golden_schedules();
  ASSERT_EQ(schedules.size(), 13u);
  for (const GoldenSchedule& golden : schedules) {
    ASSERT_EQ(golden.rates.size(), 300u) << golden.name;
    for (size_t update = 0; update < golden.rates.size(); ++update) {
      const float rate = golden.schedule.rate(int64_t(update));
      ASSERT_FLOAT_EQ(rate, float(golden.rates[update])) << golden.name << ", update " << update;
    }
  }
}

TEST(ScheduleOf, ResolvesAutoFromTheRun) {
  RunConfig config;
  config.run.steps = 77;
  config.optimizer.lr = 0.5;
  EXPECT_EQ(schedule_of(config).config.total_num_steps, 77);
  EXPECT_EQ(schedule_of(config).config.warmup_max_lr, 0.5);
  config.scheduler.total_num_steps = 99;
  EXPECT_EQ(schedule_of(config).config.total_num_steps, 99);
}

}  // namespace
}  // namespace zero
