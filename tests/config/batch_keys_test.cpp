// Ranks: 1

#include "zero/config/batch_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
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
  using ::testing::HasSubstr;
  EXPECT_THAT(resolved(batch(25, 3, 0), 2), HasSubstr("write train_batch_size = 24 or 30"));
  EXPECT_THAT(resolved(batch(3, 0, 0), 4), HasSubstr("write train_batch_size = 4"));
  EXPECT_THAT(resolved(batch(32, 3, 4), 2), HasSubstr("write train_batch_size = 24"));
  EXPECT_THAT(resolved(batch(32, 3, 4), 2), HasSubstr("train_batch_size = 32, "));
  EXPECT_THAT(resolved(batch(0, 0, 4), 2), HasSubstr("the batch has no size"));
}

TEST(ResolveBatch, RefusesMoreThanAStepCounts) {
  using ::testing::HasSubstr;
  EXPECT_EQ(resolved(batch(1'000'000, 1, 0), 1), "1000000 = 1 x 1000000 x 1");
  const std::string many = resolved(batch(4294967296, 1, 0), 1);
  EXPECT_THAT(many, HasSubstr("a step of 4294967296 micro-batches, and the most are 1000000"));
  EXPECT_THAT(many, HasSubstr("write a larger train_micro_batch_size_per_gpu"));
  const std::string large = resolved(batch(4294967296, 0, 2), 1);
  EXPECT_THAT(large, HasSubstr("a micro-batch of 2147483648 samples, and the most are 1000000"));
}

RunConfig lengths(int64_t source, int64_t target, const std::string& buckets) {
  RunConfig config;
  config.data.source_length = source;
  config.data.sequence_length = target;
  config.data.length_buckets = buckets;
  return config;
}

std::string refused(const std::string& buckets) {
  try {
    return to_text(form_lengths(lengths(128, 64, buckets)));
  } catch (const SettingsError& error) {
    return error.what();
  }
}

TEST(LengthPairs, EndWithTheLongestWrittenOrNot) {
  EXPECT_EQ(to_text(form_lengths(lengths(128, 64, "32x16"))), "32x16, 128x64");
  EXPECT_EQ(to_text(form_lengths(lengths(128, 64, "32x16,128x64"))), "32x16, 128x64");
  EXPECT_EQ(to_text(form_lengths(lengths(0, 64, "8x9, 8x64"))), "8x9, 8x64, 64x64");
  EXPECT_TRUE(form_lengths(lengths(128, 64, "none")).empty());
  EXPECT_TRUE(form_lengths(lengths(128, 64, "auto")).empty());
}

TEST(LengthPairs, RefuseWhatIsNoListAndNameOne) {
  using ::testing::HasSubstr;
  for (const char* word : {"", "2", "32x", "x16", "32x16 ", "32x16;64x32", "0x8", "32x16,", "32x-1",
                           "99999999999999999999x1"}) {
    EXPECT_THAT(refused(word), HasSubstr("\"64x32, 128x64\"")) << word;
  }
  EXPECT_THAT(refused("32x16, 64x8"),
              HasSubstr("32x16 is not covered by the pair behind it, 64x8"));
  EXPECT_THAT(refused("32x16, 32x16"), HasSubstr("not covered"));
  EXPECT_THAT(refused("129x1"), HasSubstr("129x1 is beyond the most that samples have, 128x64"));
  EXPECT_THAT(refused("1x1, 2x2, 3x3, 4x4"), HasSubstr("5 pairs of lengths, with 128x64"));
}

/// The lengths of samples of one text: the objective of this family has no sources.
std::string of_one_text(const std::string& buckets) {
  RunConfig config = testing_support::unset_config();
  config.data = lengths(0, 64, buckets).data;
  try {
    return to_text(form_lengths(config));
  } catch (const SettingsError& error) {
    return error.what();
  }
}

TEST(LengthPairs, OfSamplesOfOneTextAreLengthsAlone) {
  using ::testing::HasSubstr;
  EXPECT_EQ(of_one_text("16, 32"), "16, 32, 64");
  EXPECT_EQ(of_one_text("16,64"), "16, 64");
  EXPECT_THAT(of_one_text("32x64"), HasSubstr("\"32x64\" is no list of lengths; write \"none\", "
                                              "\"auto\", or lengths, as \"32, 64\""));
  EXPECT_THAT(of_one_text("32, 16"), HasSubstr("32 is not covered by the length behind it, 16; "
                                               "write lengths that grow up to 64"));
  EXPECT_THAT(of_one_text("65"), HasSubstr("65 is beyond the most that samples have, 64"));
  EXPECT_THAT(of_one_text("1, 2, 3, 4"), HasSubstr("these are 5 lengths, with 64"));
}

}  // namespace
}  // namespace zero
