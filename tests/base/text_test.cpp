// Ranks: 1
#include "zero/base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace zero {
namespace {

TEST(Counted, TakesAnSButForOne) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(-1, "rank"), "-1 ranks");
  EXPECT_EQ(counted(21, "micro-batch step"), "21 micro-batch steps");
}

/// Bytes accepted before the first that is not.
size_t accepted(std::string_view bytes) {
  Utf8Checker checker;
  size_t count = 0;
  while (count < bytes.size() && checker.accept(uint8_t(bytes[count]))) ++count;
  return count;
}

bool complete(std::string_view bytes) {
  Utf8Checker checker;
  for (const char byte : bytes) checker.accept(uint8_t(byte));
  return checker.complete();
}

TEST(Utf8Checker, AcceptsCharactersOfOneToFourBytes) {
  const std::string_view all = "a\u00e9\u20ac\U0001F600";
  EXPECT_EQ(accepted(all), 1u + 2 + 3 + 4);
  EXPECT_TRUE(complete(all));
}

TEST(Utf8Checker, RefusesAByteThatCannotStartACharacter) {
  EXPECT_EQ(accepted("ab\x80"), 2u);
  EXPECT_EQ(accepted("\xFF"), 0u);
}

TEST(Utf8Checker, RefusesOverlongFormsSurrogatesAndWhatLiesBeyondUnicode) {
  EXPECT_EQ(accepted("\xC0\x80"), 0u);
  EXPECT_EQ(accepted("\xE0\x80\x80"), 1u);
  EXPECT_EQ(accepted("\xED\xA0\x80"), 1u);
  EXPECT_EQ(accepted("\xF4\x90\x80\x80"), 1u);
}

TEST(Utf8Checker, SeesACharacterThatIsCutOff) { EXPECT_FALSE(complete("a\xE2\x82")); }

TEST(Utf8Checker, KnowsWhereADamagedCharacterBegan) {
  Utf8Checker checker;
  for (const char byte : std::string_view("a\xE2\x82")) EXPECT_TRUE(checker.accept(uint8_t(byte)));
  EXPECT_FALSE(checker.accept(' '));
  EXPECT_EQ(checker.first(), 0xE2);
  EXPECT_EQ(checker.before(), 2);
}

TEST(Hex, WritesTwoDigitsOfEachByteInTheirOrder) {
  EXPECT_EQ(hex_of({}), "");
  const uint8_t bytes[] = {0x00, 0x0a, 0xf1, 0xff};
  EXPECT_EQ(hex_of(bytes), "000af1ff");
}

TEST(NearestKey, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("stage", "stgae"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestKey, StopsCountingWhereNobodyAsks) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 0), 1u);
  EXPECT_EQ(edit_distance("stage", "stgae", 1), 1u) << "a swap reaches back two rows";
  EXPECT_EQ(edit_distance("abcdef", "zyxwvu", 1), 2u);
}

}  // namespace
}  // namespace zero
