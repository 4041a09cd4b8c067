// Ranks: 1
#include "src/commands/user_text.hpp"

#include <gtest/gtest.h>

namespace zero::commands {
namespace {

TEST(EscapedText, LeavesCharactersAndEscapesTheRest) {
  EXPECT_EQ(escaped_text("caf\u00e9 \u65e5", 20), "\"caf\u00e9 \u65e5\"");
  EXPECT_EQ(escaped_text("a\nb\tc\r\"\\", 20), R"("a\nb\tc\r\"\\")");
  EXPECT_EQ(escaped_text(std::string_view("\0\x1b\x7f", 3), 20), R"("\x00\x1b\x7f")");
}

TEST(EscapedText, ShowsBytesThatAreNoCharacterAsNumbers) {
  EXPECT_EQ(escaped_text("\xa9z", 20), R"("\xa9z")");
  EXPECT_EQ(escaped_text("a\xe6\x97", 20), R"("a\xe6\x97")");
}

TEST(EscapedText, IsCutToItsWidthBetweenCharacters) {
  EXPECT_EQ(escaped_text("abcd", 4), "\"abcd\"");
  EXPECT_EQ(escaped_text("abcde", 4), "\"abcd\"...");
  EXPECT_EQ(escaped_text("\u65e5\u65e5\u65e5", 2), "\"\u65e5\u65e5\"...");
  EXPECT_EQ(escaped_text("abc\n", 4), "\"abc\"...");
  EXPECT_EQ(escaped_text("", 0), "\"\"");
}

}  // namespace
}  // namespace zero::commands
