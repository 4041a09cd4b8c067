// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/data/tokenizers.hpp"

namespace zero {
namespace {

using testing::ElementsAre;

/// Each part as "text" or "text=id".
std::vector<std::string> split(const AddedTokens& tokens, std::string_view text) {
  std::vector<std::string> out;
  for (const AddedTokens::Part& part : tokens.split(text)) {
    out.push_back(std::string(part.text) + (part.id < 0 ? "" : "=" + std::to_string(part.id)));
  }
  return out;
}

TEST(AddedTokens, AreFoundLeftmostAndLongestFirst) {
  const AddedTokens tokens({{.text = "<a>", .id = 7}, {.text = "<a>b", .id = 8}, {.text = "b"}});
  EXPECT_THAT(split(tokens, "x<a>y"), ElementsAre("x", "<a>=7", "y"));
  EXPECT_THAT(split(tokens, "<a>b<a>"), ElementsAre("<a>b=8", "<a>=7"));
  EXPECT_THAT(split(tokens, "<ab"), ElementsAre("<a", "b=0"));
  EXPECT_THAT(split(tokens, ""), ElementsAre());
  EXPECT_THAT(split(AddedTokens(), "<a>"), ElementsAre("<a>"));
}

TEST(AddedTokens, TakeBlanksOfUnicodeOnTheSidesThatTheyStrip) {
  const AddedTokens tokens({{.text = "<l>", .id = 1, .strips_left = true},
                            {.text = "<r>", .id = 2, .strips_right = true}});
  EXPECT_THAT(split(tokens, "a \u3000<l> b"), ElementsAre("a", "<l>=1", " b"));
  EXPECT_THAT(split(tokens, "a <r>\t\u00a0b "), ElementsAre("a ", "<r>=2", "b "));
  EXPECT_THAT(split(tokens, "<r>  <l>"), ElementsAre("<r>=2", "<l>=1"));
  EXPECT_THAT(split(tokens, "\u65e5<l>"), ElementsAre("\u65e5", "<l>=1"));
  EXPECT_THAT(split(tokens, "\xA0\x80<l>"), ElementsAre("\xA0\x80", "<l>=1")) << "no UTF-8";
}

TEST(AddedTokens, KnowWhichAreLeftOutOfAText) {
  const AddedTokens tokens(
      {{.text = "</s>", .id = 1}, {.text = "word", .id = 2, .special = false}});
  EXPECT_TRUE(tokens.is_special(1));
  EXPECT_FALSE(tokens.is_special(2));
  EXPECT_FALSE(tokens.is_special(3));
}

}  // namespace
}  // namespace zero
