// Ranks: 1

#include "io/text/unicode_ranges.hpp"

#include <gtest/gtest.h>

namespace zero {
namespace {

TEST(UnicodeRanges, TakeNumbersOfAllScriptsForDigits) {
  for (const uint32_t digit : {0x30u, 0x39u, 0xBDu, 0x0664u, 0x2167u, 0x1FBF0u})
    EXPECT_TRUE(is_digit(digit)) << digit;
  for (const uint32_t other : {0x2Fu, 0x3Au, 0x61u, 0x4E09u, 0x10FFFFu})
    EXPECT_FALSE(is_digit(other)) << other;
}

TEST(UnicodeRanges, TakeLettersMarksAndDigitsForWordCharacters) {
  for (const uint32_t word : {0x61u, 0x5Fu, 0x39u, 0xE9u, 0x301u, 0x4E2Du, 0x200Du})
    EXPECT_TRUE(is_word_character(word)) << word;
  for (const uint32_t other : {0x20u, 0x2Du, 0x2019u, 0xBDu, 0x1F600u})
    EXPECT_FALSE(is_word_character(other)) << other;
}

TEST(UnicodeRanges, Ascend) {
  for (size_t i = 1; i < kWordRanges.size(); ++i)
    EXPECT_LT(kWordRanges[i - 1].last + 1, kWordRanges[i].first);
  for (size_t i = 1; i < kDigitRanges.size(); ++i)
    EXPECT_LT(kDigitRanges[i - 1].last + 1, kDigitRanges[i].first);
}

}  // namespace
}  // namespace zero
