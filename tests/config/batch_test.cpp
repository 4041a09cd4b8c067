// Ranks: 1

#include "zero/config/batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zero/base/error.hpp"

namespace zero {
namespace {

RunConfig batch(int64_t train, int64_t micro, int64_t accumulation) {
  RunConfig config;
  config.train_batch_size = train;
  config.train_micro_batch_size_per_gpu = micro;
  config.gradient_accumulation_steps = accumulation;
  return config;
}

std::string resolved(const RunConfig& config, int64_t ranks) {
  try {
    const BatchSizes b = resolve_batch(config, ranks);
    return text(b.train, " = ", b.micro, " x ", b.accumulation, " x ", ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
}

TEST(ResolveBatch, InfersTheThirdFromAnyTwo) {
  EXPECT_EQ(resolved(batch(24, 3, 4), 2), "24 = 3 x 4 x 2");
  EXPECT_EQ(resolved(batch(0, 3, 4), 2), "24 = 3 x 4 x 2");
  EXPECT_EQ(resolved(batch(24, 0, 4), 2), "24 = 3 x 4 x 2");
  EXPECT_EQ(resolved(batch(24, 3, 0), 2), "24 = 3 x 4 x 2");
}

TEST(ResolveBatch, AccumulatesOnceWhereOnlyOneIsGiven) {
  EXPECT_EQ(resolved(batch(24, 0, 0), 2), "24 = 12 x 1 x 2");
  EXPECT_EQ(resolved(batch(0, 3, 0), 2), "6 = 3 x 1 x 2");
}

TEST(ResolveBatch, RefusesWhatDoesNotDivideAndNamesWhatWould) {
  using testing::HasSubstr;
  EXPECT_THAT(resolved(batch(25, 3, 0), 2), HasSubstr("write train_batch_size = 24 or 30"));
  EXPECT_THAT(resolved(batch(3, 0, 0), 4), HasSubstr("write train_batch_size = 4"));
  EXPECT_THAT(resolved(batch(32, 3, 4), 2), HasSubstr("write train_batch_size = 24"));
  EXPECT_THAT(resolved(batch(32, 3, 4), 2), HasSubstr("train_batch_size = 32, "));
  EXPECT_THAT(resolved(batch(0, 0, 4), 2), HasSubstr("the batch has no size"));
}

TEST(ResolveBatch, RefusesMoreThanAStepCounts) {
  using testing::HasSubstr;
  EXPECT_EQ(resolved(batch(1'000'000, 1, 0), 1), "1000000 = 1 x 1000000 x 1");
  const std::string many = resolved(batch(4294967296, 1, 0), 1);
  EXPECT_THAT(many, HasSubstr("a step of 4294967296 micro-batches, and the most are 1000000"));
  EXPECT_THAT(many, HasSubstr("write a larger train_micro_batch_size_per_gpu"));
  const std::string large = resolved(batch(4294967296, 0, 2), 1);
  EXPECT_THAT(large, HasSubstr("a micro-batch of 2147483648 samples, and the most are 1000000"));
}

}  // namespace
}  // namespace zero
