// Ranks: 1
#include "zero/advise/batch_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/advise/sixteen_samples.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/advise/plan_report.hpp"
#include "zero/base/error.hpp"

namespace zero::advise {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Mode = Recompute::Mode;

const setup::World kAlone{.ranks = 1};
const MemoryLimit kPlenty{.bytes = int64_t(1) << 40, .source = "a large machine"};

RunConfig best_of_sixteen(Mode mode = Mode::none) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = kMicroBatchBest;
  config.recompute.mode = mode;
  return config;
}

/// A machine whose ops take as long beside their work as half a micro-batch does.
plan::Machine with_overhead(double seconds) {
  plan::Machine machine{.name = "test", .product_flops = 1e9, .memory_bandwidth = 1e9};
  machine.op_seconds = seconds;
  return machine;
}

int64_t arena(const RunConfig& config) {
  return setup::build(config, kAlone).plan.arena_bytes[size_t(plan::Tier::device)];
}

/// Returns the forecast seconds of sixteen samples in micro-batches of this size.
double seconds_of(int64_t micro, Mode mode, const plan::Machine& machine) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = micro;
  config.recompute.mode = mode;
  return plan::forecast(setup::build(config, kAlone).plan, machine).step_seconds;
}

TEST(BatchChoice, IsTheFastestForecastAndTellsWhatItWeighed) {
  RunConfig config = best_of_sixteen();
  const plan::Machine machine = with_overhead(1e-3);
  const Choices choices = choose_batch(config, kAlone, kPlenty, machine);
  double least = 1e9;
  int64_t best = 0;
  for (const int64_t micro : {1, 2, 4, 8, 16}) {
    const double seconds = seconds_of(micro, Mode::none, machine);
    if (seconds < least) least = seconds, best = micro;
  }
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, best);
  EXPECT_EQ(best, 16) << "fewer ops have less overhead";
  ASSERT_THAT(choices, SizeIs(1));
  EXPECT_EQ(choices[0].asked, "best");
  EXPECT_THAT(
      choices_text(choices),
      HasSubstr("train_micro_batch_size_per_gpu = \"best\" is 16, the fastest of 5 that fit"));
}

TEST(BatchChoice, WeighsOnlyWhatFits) {
  RunConfig four = sixteen_samples();
  four.train_micro_batch_size_per_gpu = 4;
  const MemoryLimit limit{.bytes = arena(four), .source = "memory.device_limit"};
  RunConfig config = best_of_sixteen();
  config.memory.device_limit = limit.bytes;
  choose_batch(config, kAlone, limit, with_overhead(1e-3));
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 4);
  config = best_of_sixteen(Mode::automatic);
  config.memory.device_limit = limit.bytes;
  const Choices choices = choose_batch(config, kAlone, limit, with_overhead(1e-3));
  EXPECT_GE(config.train_micro_batch_size_per_gpu, 4) << "recompute makes room for more";
  EXPECT_NE(config.recompute.mode, Mode::automatic);
  EXPECT_TRUE(fits(setup::build(config, kAlone), limit));
  ASSERT_THAT(choices, SizeIs(2));
  EXPECT_EQ(choices[1].key, "activation_checkpointing.recompute");
}

TEST(BatchChoice, RecomputesOnlyWhereItMust) {
  RunConfig config = best_of_sixteen(Mode::automatic);
  choose_batch(config, kAlone, kPlenty, with_overhead(0));
  EXPECT_EQ(config.recompute.mode, Mode::none);
  config = sixteen_samples();
  config.recompute.mode = Mode::full;
  const MemoryLimit limit{.bytes = arena(config), .source = "memory.device_limit"};
  config.recompute.mode = Mode::automatic;
  config.memory.device_limit = limit.bytes;
  const Choices choices = choose_batch(config, kAlone, limit, with_overhead(0));
  EXPECT_EQ(config.recompute.mode, Mode::full);
  EXPECT_THAT(choices_text(choices),
              HasSubstr("recompute = \"auto\" is \"full\", the fastest of 1"));
}

TEST(BatchChoice, LeavesNumbersAndWordsAlone) {
  RunConfig config = sixteen_samples();
  const RunConfig asked = config;
  EXPECT_THAT(choose_batch(config, kAlone, kPlenty, with_overhead(0)), SizeIs(0));
  EXPECT_EQ(config, asked);
}

TEST(BatchChoice, TellsTheLargestLikewise) {
  RunConfig config = sixteen_samples();
  config.train_micro_batch_size_per_gpu = kMicroBatchMax;
  const Choices choices = choose_batch(config, kAlone, kPlenty, with_overhead(0));
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 16);
  EXPECT_THAT(choices_text(choices), HasSubstr("\"max\" is 16 within"));
}

TEST(BatchChoice, TakesTheLeastIfNothingFits) {
  RunConfig config = best_of_sixteen(Mode::automatic);
  config.memory.device_limit = 1;
  choose_batch(config, kAlone, {.bytes = 1, .source = "memory.device_limit"}, with_overhead(0));
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 1);
  EXPECT_EQ(config.recompute.mode, Mode::full);
  config.gradient_accumulation_steps = 2;
  config.train_micro_batch_size_per_gpu = kMicroBatchBest;
  EXPECT_THROW(choose_batch(config, kAlone, kPlenty, with_overhead(0)), Error);
}

}  // namespace
}  // namespace zero::advise
