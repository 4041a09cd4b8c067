// Ranks: 1

#include "src/config/field_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

TEST(AsBytes, ReadsBinaryUnitsAndNoOthers) {
  int64_t bytes = 0;
  EXPECT_TRUE(as_bytes("1.5KiB", bytes));
  EXPECT_EQ(bytes, 1536);
  EXPECT_TRUE(as_bytes("24 GiB", bytes));
  EXPECT_EQ(bytes, int64_t(24) << 30);
  for (const char* wrong : {"", "GiB", "24GB", "24", "-1GiB", "0B", "24GiBs", "nanB", "9000PiB"}) {
    EXPECT_FALSE(as_bytes(wrong, bytes)) << wrong;
  }
}

TEST(AsDecimalBytes, ReadsPowersOfTenAndNoOthers) {
  int64_t bytes = 0;
  EXPECT_TRUE(as_decimal_bytes("5GB", bytes));
  EXPECT_EQ(bytes, 5'000'000'000);
  EXPECT_TRUE(as_decimal_bytes("1.5 KB", bytes));
  EXPECT_EQ(bytes, 1500);
  for (const char* wrong : {"", "5", "5GiB", "-5GB", "10000PB"}) {
    EXPECT_FALSE(as_decimal_bytes(wrong, bytes)) << wrong;
  }
}

TEST(AsClock, ReadsHoursMinutesAndSeconds) {
  int64_t seconds = 0;
  EXPECT_TRUE(as_clock("01:02:03", seconds));
  EXPECT_EQ(seconds, 3723);
  EXPECT_TRUE(as_clock("9999:59:59", seconds));
  for (const char* wrong : {"", ":00:00", "1:2:3", "00:60:00", "00:00:60", "-1:00:00",
                            "10000:00:00", "00:00:00:00", "00-00-00", "0a:00:00", "00:-1:00"}) {
    EXPECT_FALSE(as_clock(wrong, seconds)) << wrong;
  }
}

TEST(IsLineOfText, RefusesControlCharactersAndBrokenUtf8) {
  EXPECT_TRUE(is_line_of_text(""));
  EXPECT_TRUE(is_line_of_text("a word, \"quoted\", ä"));
  for (const char* wrong : {"a\nb", "\x7f", "\xc3", "\xff", "a\tb"}) {
    EXPECT_FALSE(is_line_of_text(wrong)) << wrong;
  }
}

std::string kept(const std::string& recompute, const std::string& model = "model.name = \"gpt2\"") {
  const Lines lines = complete({model, "activation_checkpointing.recompute = " + recompute});
  return kept_activations(read_config(join(lines), "in.toml").config);
}

TEST(KeptActivations, AreCountedByBlocks) {
  EXPECT_EQ(kept("\"none\""), "recompute = \"none\" keeps every activation of 12 blocks");
  EXPECT_EQ(kept("\"full\""), "recompute = \"full\" keeps the inputs of 12 blocks");
  EXPECT_THAT(kept("\"selective\""), HasSubstr("keeps those of 12 blocks but what is cheap"));
  EXPECT_EQ(kept("[0, 2, 5]"),
            "recompute keeps the inputs of 3 blocks and every activation of 9 blocks");
}

TEST(KeptActivations, AreToldWhereANumberIsAskedFor) {
  const Lines lines = complete({"activation_checkpointing.recompute = \"full\"",
                                "activation_checkpointing.number_checkpoints = 4"});
  const auto warnings = read_config(join(lines), "in.toml").warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("number_checkpoints: 4 is a hint: "));
  EXPECT_THAT(warnings[0], HasSubstr("keeps the inputs of 12 blocks"));
}

}  // namespace
}  // namespace zero
