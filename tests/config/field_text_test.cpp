// Ranks: 1

#include <gtest/gtest.h>

#include "zero/config/toml.hpp"

namespace zero {
namespace {

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

}  // namespace
}  // namespace zero
