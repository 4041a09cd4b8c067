// Ranks: 1

#include "src/config/habits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/settings.hpp"

namespace zero {
namespace {

using testing::HasSubstr;

std::string said_of(const std::string& line) { return error_of(complete({line})); }

TEST(Habits, FindDeepSpeedsSectionsUnderTheirNamesHere) {
  EXPECT_THAT(said_of("zero_optimization.reduce_bucket_size = 2e8"),
              HasSubstr("did you mean zero.reduce_bucket_size?"));
  EXPECT_THAT(said_of("optimizer.params.lr = 0.1"), HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(said_of("scheduler.params.warmup_num_steps = 1"),
              HasSubstr("did you mean scheduler.warmup_num_steps?"));
  EXPECT_EQ(key_here("zero_optimization"), "zero");
  EXPECT_EQ(key_here("zero_optimizations.stage"), "zero_optimizations.stage");
}

TEST(Habits, SayWhatDoesTheWorkHere) {
  EXPECT_EQ(said_of("per_device_train_batch_size = 8"),
            "in.toml:4: per_device_train_batch_size: no such key; write "
            "train_micro_batch_size_per_gpu");
  EXPECT_THAT(said_of("model.n_embd = 8"), HasSubstr("write model.width"));
  EXPECT_THAT(said_of("batch_size = 8"), HasSubstr("write train_batch_size"));
  EXPECT_THAT(said_of("aio.thread_count = 2"), HasSubstr("aio.intra_op_parallelism"));
  EXPECT_THAT(said_of("[tensorboard]\nenabled = true\njob_name = \"x\""),
              testing::MatchesRegex(
                  "in.toml:4: tensorboard: a key of DeepSpeed without a twin here: [^\n]*"));
  EXPECT_EQ(habit_advice("max_stepsize"), "");
  EXPECT_NE(habit_advice("max_steps"), "");
}

TEST(Habits, TellASectionFromAKey) {
  EXPECT_THAT(said_of("zero = 3"), HasSubstr("is a section; write [zero] and its keys below"));
  EXPECT_THAT(said_of("[zero.stage]"), HasSubstr("is a key, not a section"));
  EXPECT_EQ(said_of("[zreo]"), "in.toml:4: zreo: no such section; did you mean zero?");
  EXPECT_THAT(said_of("[quux]"), HasSubstr("inputs/reference.toml lists every section"));
}

TEST(Habits, AnUnknownSectionIsOneLineWhateverItHolds) {
  EXPECT_EQ(said_of("[optimzer]\nlr = 1\nbetas = 3\ntype = \"Adam\""),
            "in.toml:4: optimzer: no such section; did you mean optimizer?");
}

}  // namespace
}  // namespace zero
