// Ranks: 1

#include "io/text/word_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zero {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(WordPattern pattern, const std::string& text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(pattern, text, at);
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

std::vector<std::string> llama3(const std::string& text) {
  return words(WordPattern::kLlama3, text);
}

std::vector<std::string> digits(const std::string& text, bool joined) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = digits_end(text, at, joined);
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

TEST(WordPattern, IsFoundByItsExactText) {
  EXPECT_EQ(
      word_pattern(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
      WordPattern::kByteLevel);
  EXPECT_EQ(word_pattern("\\p{L}+"), std::nullopt);
}

TEST(WordPattern, TakesOneOtherCharacterInFrontOfLetters) {
  EXPECT_THAT(llama3("a b\tc.d"), ElementsAre("a", " b", "\tc", ".d"));
  EXPECT_THAT(llama3("  b"), ElementsAre(" ", " b"));
  EXPECT_THAT(llama3("..b"), ElementsAre("..", "b"));
  EXPECT_THAT(llama3("\nb"), ElementsAre("\n", "b"));
}

TEST(WordPattern, JoinsThreeNumbersOrNone) {
  EXPECT_THAT(llama3("12345 6"), ElementsAre("123", "45", " ", "6"));
  EXPECT_THAT(words(WordPattern::kQwen, "123 4"), ElementsAre("1", "2", "3", " ", "4"));
  EXPECT_THAT(words(WordPattern::kByteLevel, "1234 5"), ElementsAre("1234", " 5"));
}

TEST(WordPattern, TakesContractionsInAnyCase) {
  EXPECT_THAT(llama3("I'LL x's"), ElementsAre("I", "'LL", " x", "'s"));
  EXPECT_THAT(llama3("x'\u017fy"), ElementsAre("x", "'\u017f", "y"));
  EXPECT_THAT(llama3("'rx"), ElementsAre("'rx"));
  EXPECT_THAT(llama3("'"), ElementsAre("'"));
}

TEST(WordPattern, EndsBlanksAtTheLastEndOfALine) {
  EXPECT_THAT(llama3("a \n \n  b"), ElementsAre("a", " \n \n", " ", " b"));
  EXPECT_THAT(llama3("!\r\n\n x"), ElementsAre("!\r\n\n", " x"));
  EXPECT_THAT(llama3(" !a"), ElementsAre(" !", "a"));
  EXPECT_THAT(llama3("a  "), ElementsAre("a", "  "));
}

TEST(WordPattern, TakesABrokenByteAlone) {
  EXPECT_THAT(llama3("a\xFF"
                     "b \xFF!"),
              ElementsAre("a", "\xFF", "b", " ", "\xFF", "!"));
}

TEST(Digits, AreAloneOrJoined) {
  EXPECT_THAT(digits("ab12 3", false), ElementsAre("ab", "1", "2", " ", "3"));
  EXPECT_THAT(digits("ab12 3", true), ElementsAre("ab", "12", " ", "3"));
  EXPECT_THAT(digits("\u0664\u2167\u4e09", false), ElementsAre("\u0664", "\u2167", "\u4e09"));
}

}  // namespace
}  // namespace zero
