// Ranks: 1
#include "zero/config/steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zero/base/error.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

using testing::HasSubstr;

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
