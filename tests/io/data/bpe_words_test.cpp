// Ranks: 1

#include "io/data/bpe_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zero {
namespace {

using testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    if (end <= at || end > text.size()) {
      ADD_FAILURE() << "a word from " << at << " to " << end << " of " << text.size();
      break;
    }
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

TEST(BpeWords, CutLettersNumbersAndSignsApartAndGiveEachItsBlank) {
  EXPECT_THAT(words_of("In 1984, a war"), ElementsAre("In", " 1984", ",", " a", " war"));
  EXPECT_THAT(words_of("x1 !? $5"), ElementsAre("x", "1", " !?", " $", "5"));
}

TEST(BpeWords, KnowTheSevenContractionsInSmallLetters) {
  EXPECT_THAT(words_of("I'll he's"), ElementsAre("I", "'ll", " he", "'s"));
  EXPECT_THAT(words_of("don't 've"), ElementsAre("don", "'t", " '", "ve"));
  EXPECT_THAT(words_of("IT'S 'lx"), ElementsAre("IT", "'", "S", " '", "lx"));
}

TEST(BpeWords, LeaveTheLastBlankOfARunToTheNextWord) {
  EXPECT_THAT(words_of("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words_of("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
  EXPECT_THAT(words_of("a \n"), ElementsAre("a", " \n"));
  EXPECT_THAT(words_of("a\u3000\u3000b"), ElementsAre("a", "\u3000", "\u3000", "b"));
}

TEST(BpeWords, KnowClassesBeyondAscii) {
  EXPECT_THAT(words_of("caf\u00e9 \u65e5\u672c"), ElementsAre("caf\u00e9", " \u65e5\u672c"));
  EXPECT_THAT(words_of("\u00b2\u2167x"), ElementsAre("\u00b2\u2167", "x"));
  EXPECT_THAT(words_of("e\u0301\U0001F600"), ElementsAre("e", "\u0301\U0001F600"));
  // The last letter of Unicode 16 that Unicode 15 does not know, and one that 17 adds.
  EXPECT_THAT(words_of("a\U00016D6Aa"), ElementsAre("a\U00016D6Aa"));
  EXPECT_THAT(words_of("a\U000323B0a"), ElementsAre("a", "\U000323B0", "a"));
}

TEST(BpeWords, TakeAByteThatIsNoUtf8ForAWord) {
  EXPECT_THAT(words_of("a\xFF\xFE"
                       "b"),
              ElementsAre("a", "\xFF", "\xFE", "b"));
  EXPECT_THAT(words_of("a \xC3"), ElementsAre("a", " ", "\xC3"));
  EXPECT_THAT(words_of("\xE4\xB8"), ElementsAre("\xE4", "\xB8"));
  EXPECT_THAT(words_of("\xED\xA0\x80"), ElementsAre("\xED", "\xA0", "\x80"));
  EXPECT_THAT(words_of("\xC0\xAF"), ElementsAre("\xC0", "\xAF"));
}

}  // namespace
}  // namespace zero
