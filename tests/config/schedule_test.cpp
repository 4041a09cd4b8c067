// Ranks: 1
#include "zero/config/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "src/config/key_assignment.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

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
  std::string name;  ///< "schedule type=WarmupLR warmup_type=log ..."
  Schedule schedule;
  std::vector<double> rates;  ///< by update
};

/// Fills the key as an input file does.
void set(RunConfig& config, const std::string& key, const std::string& word) {
  TomlValue value;
  std::string wrong;
  EXPECT_TRUE(parse_toml_word(word, value, wrong)) << wrong;
  for (const Field& field : fields_of(config)) {
    if (field.key == key) {
      EXPECT_EQ(assign(field, value), "") << key;
      return;
    }
  }
  ADD_FAILURE() << "no key " << key;
}

/// A line with the settings of [scheduler], key=value each.
GoldenSchedule open_schedule(const std::string& line) {
  RunConfig config;
  config.optimizer.lr = 6e-4;
  std::istringstream words(line);
  std::string word;
  words >> word;
  while (words >> word) {
    const size_t equals = word.find('=');
    set(config, "scheduler." + word.substr(0, equals), word.substr(equals + 1));
  }
  return {.name = line, .schedule = schedule_of(config), .rates = {}};
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
  ASSERT_EQ(schedules.size(), 25u);
  for (const GoldenSchedule& golden : schedules) {
    ASSERT_EQ(golden.rates.size(), 300u) << golden.name;
    for (size_t update = 0; update < golden.rates.size(); ++update) {
      const float rate = golden.schedule.rate(int64_t(update));
      ASSERT_FLOAT_EQ(rate, float(golden.rates[update])) << golden.name << ", update " << update;
    }
  }
}

/// From 1 to 2 in 4 updates, and back in 2.
Schedule cycle() {
  Schedule s = schedule(ScheduleType::OneCycle, 0, 0);
  s.config.cycle_min_lr = 1;
  s.config.cycle_max_lr = 2;
  s.config.cycle_first_step_size = 4;
  s.config.cycle_second_step_size = 2;
  s.config.cycle_second_stair_count = 0;
  return s;
}

TEST(Schedule, ACycleRisesFallsAndStays) {
  const Schedule s = cycle();
  const float expected[] = {1, 1.25, 1.5, 1.75, 2, 1.5, 1, 1};
  for (int u = 0; u < 8; ++u) EXPECT_EQ(s.rate(u), expected[u]) << u;
  EXPECT_EQ(s.rate(1'000'000), 1.0f);
}

TEST(Schedule, BehindACycleTheRateFallsFromItsLowEnd) {
  Schedule s = cycle();
  s.config.decay_step_size = 2;
  s.config.decay_lr_rate = 0.5;
  EXPECT_EQ(s.rate(6), 1.0f);
  EXPECT_EQ(s.rate(8), float(1 / 1.5));  // one interval behind it
  EXPECT_EQ(s.rate(10), 0.5f);           // two
}

TEST(Schedule, StairsOfACycleHoldTheRateAndReachItsPeak) {
  Schedule s = cycle();
  s.config.cycle_first_stair_count = 2;
  const float expected[] = {1, 1, 1.5, 1.5, 2, 1.5, 1};
  for (int u = 0; u < 7; ++u) EXPECT_EQ(s.rate(u), expected[u]) << u;
  s.config.cycle_second_stair_count = 1;
  EXPECT_EQ(s.rate(5), 1.0f) << "one stair down";
}

TEST(Schedule, ARangeTestGrowsByItsFirstRateOrInStairs) {
  Schedule s = schedule(ScheduleType::LRRangeTest, 0, 0);
  s.config.lr_range_test_min_lr = 0.5;
  s.config.lr_range_test_step_size = 4;
  s.config.lr_range_test_step_rate = 2;
  EXPECT_EQ(s.rate(0), 0.5f);
  EXPECT_EQ(s.rate(2), 1.0f);  // half an interval: 0.5 (1 + 2 / 2)
  EXPECT_EQ(s.rate(8), 2.5f);
  s.config.lr_range_test_staircase = true;
  EXPECT_EQ(s.rate(3), 0.5f);
  EXPECT_EQ(s.rate(4), 1.5f);
}

TEST(Schedule, AStableRateFallsInItsLastSteps) {
  Schedule s = schedule(ScheduleType::WSD, 4, 20);
  s.config.wsd_decay_steps = 4;
  EXPECT_EQ(s.rate(3), 1.0f) << "as WarmupLR";
  EXPECT_EQ(s.rate(5), 2.0f);
  EXPECT_EQ(s.rate(16), 2.0f);
  EXPECT_EQ(s.rate(17), 1.5f);
  EXPECT_EQ(s.rate(19), 0.5f) << "the last update still learns";
  EXPECT_EQ(s.rate(20), 0.0f);
  EXPECT_EQ(s.rate(90), 0.0f);
  s.config.wsd_min_ratio = 0.5;
  EXPECT_EQ(s.rate(18), 1.5f);
  EXPECT_EQ(s.rate(90), 1.0f);
  s.config.wsd_decay_type = DecayType::sqrt;
  EXPECT_EQ(s.rate(17), 1.5f);  // 1 - sqrt(1 / 4) = 1 / 2
  s.config.wsd_decay_type = DecayType::cosine;
  EXPECT_EQ(s.rate(18), 1.5f);
}

TEST(Schedule, AWarmUpThatReachesIntoTheDecayHasNoJump) {
  Schedule s = schedule(ScheduleType::WSD, 16, 20);
  s.config.wsd_decay_steps = 10;
  for (int u = 2; u < 20; ++u) EXPECT_LE(std::abs(s.rate(u) - s.rate(u - 1)), 0.21f) << u;
  EXPECT_EQ(s.rate(9), 1.0f);
  EXPECT_EQ(s.rate(15), 1.0f);
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

TEST(ScheduleOf, ResolvesTheHalvesOfACycleAndATenthForADecay) {
  RunConfig config;
  config.run.steps = 77;
  config.optimizer.lr = 0.5;
  config.scheduler.cycle_first_step_size = 6;
  config.scheduler.cycle_first_stair_count = 3;
  const ScheduleConfig resolved = schedule_of(config).config;
  EXPECT_EQ(resolved.cycle_max_lr, 0.5);
  EXPECT_EQ(resolved.cycle_second_step_size, 6);
  EXPECT_EQ(resolved.cycle_second_stair_count, 3);
  EXPECT_EQ(resolved.wsd_decay_steps, 8);
}

RunConfig epochs(int64_t count) {
  RunConfig config;
  config.run.epochs = count;
  return config;
}

std::string error_of(RunConfig config, int64_t samples) {
  try {
    resolve_steps(config, samples, 4);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(ResolveSteps, CountsTheFewestWholeBatchesThatVisitEverySample) {
  const auto steps = [](int64_t count, int64_t samples) {
    RunConfig config = epochs(count);
    resolve_steps(config, samples, 4);
    return config.run.steps;
  };
  EXPECT_EQ(steps(1, 8), 2);
  EXPECT_EQ(steps(1, 9), 3);
  // Two epochs of 9 are 18 samples: the seam between them costs no batch.
  EXPECT_EQ(steps(2, 9), 5);
  EXPECT_EQ(steps(3, 1), 1);
}

TEST(ResolveSteps, CountsOnFromWhatABatchOfAnotherSizeHasLeft) {
  const auto steps = [](const DataCursor& done) {
    RunConfig config = epochs(2);
    resolve_steps(config, 10, 4, done);
    return config.run.steps;
  };
  EXPECT_EQ(steps({.steps = 2, .samples = 8}), 5) << "of 4 too";
  EXPECT_EQ(steps({.steps = 1, .samples = 8}), 4) << "12 samples are left";
  EXPECT_EQ(steps({.steps = 8, .samples = 8}), 11);
  EXPECT_EQ(steps({.steps = 3, .samples = 24}), 3) << "all was visited";
}

TEST(CursorBefore, CountsSamplesOfAllStepsSoFar) {
  EXPECT_EQ(cursor_before(1, {}, 8), (DataCursor{0, 0}));
  EXPECT_EQ(cursor_before(5, {}, 8), (DataCursor{4, 32}));
  EXPECT_EQ(cursor_before(5, {.steps = 4, .samples = 12}, 8), (DataCursor{4, 12}));
  EXPECT_EQ(cursor_before(7, {.steps = 4, .samples = 12}, 8), (DataCursor{6, 28}));
}

TEST(ResolveSteps, LeavesARunThatSaysItsSteps) {
  RunConfig config;
  config.run.steps = 77;
  resolve_steps(config, 9, 4);
  EXPECT_EQ(config.run.steps, 77);
}

TEST(ResolveSteps, GivesTheScheduleItsLength) {
  RunConfig config = epochs(2);
  config.scheduler.type = ScheduleType::WarmupDecayLR;
  resolve_steps(config, 10, 4);
  EXPECT_EQ(schedule_of(config).config.total_num_steps, 5);
}

TEST(ResolveSteps, WarnsOfAWarmupThatOutlastsTheStepsFound) {
  RunConfig config = epochs(2);
  EXPECT_EQ(resolve_steps(config, 10, 4), "");
  config.scheduler.type = ScheduleType::WarmupLR;
  config.scheduler.warmup_num_steps = 4;
  EXPECT_EQ(resolve_steps(config, 10, 4), "");
  config.scheduler.warmup_num_steps = 5;
  EXPECT_THAT(resolve_steps(config, 10, 4),
              HasSubstr("does not end within the schedule of 5 steps"));
  config.scheduler.total_num_steps = 5;
  EXPECT_EQ(resolve_steps(config, 10, 4), "") << "was said when the input was read";
}

TEST(ResolveSteps, RefusesASecondLengthThatIsTooShortOrTooLong) {
  RunConfig config = epochs(2);
  config.run.stop_at = 5;
  EXPECT_EQ(error_of(config, 10), "no error");
  config.run.stop_at = 6;
  EXPECT_THAT(error_of(config, 10), HasSubstr("run.stop_at: the run stops at step 6, but 2 epochs "
                                              "of 10 samples are 5 steps of 4; write at most 5"));
  config.run.stop_at = 0;
  config.scheduler.type = ScheduleType::WarmupCosineLR;
  config.scheduler.total_num_steps = 4;
  EXPECT_THAT(error_of(config, 10), HasSubstr("scheduler.total_num_steps: the schedule ends at"));
}

TEST(ResolveSteps, RefusesADecayOfMoreStepsThanThereAre) {
  RunConfig config = epochs(2);
  config.scheduler.type = ScheduleType::WSD;
  config.scheduler.warmup_num_steps = 0;
  config.scheduler.wsd_decay_steps = 5;
  EXPECT_EQ(error_of(config, 10), "no error");
  config.scheduler.wsd_decay_steps = 6;
  EXPECT_THAT(error_of(config, 10),
              HasSubstr("scheduler.wsd_decay_steps: the decay takes 6 steps of a schedule of 5; "
                        "write \"auto\" or at most 5 (2 epochs of 10 samples are 5 steps of 4)"));
}

TEST(ResolveSteps, RefusesMoreThanCanBeCounted) {
  EXPECT_THAT(error_of(epochs(1'000'000'000), int64_t(1) << 40), HasSubstr("run.epochs: "));
}

}  // namespace
}  // namespace zero
