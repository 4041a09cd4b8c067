// Ranks: 1
#include "io/text/added_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/processor_time.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;

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

/// The parts by looking for each token at each place.
std::vector<std::string> plain_split(const std::vector<AddedToken>& tokens, std::string_view text) {
  std::vector<std::string> out;
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : tokens) {
      const bool is_here = !token.text.empty() && text.substr(at).starts_with(token.text);
      if (is_here && (longest == nullptr || token.text.size() > longest->text.size()))
        longest = &token;
    }
    if (longest == nullptr) {
      rest += text[at++];
      continue;
    }
    if (!rest.empty()) out.push_back(std::exchange(rest, ""));
    out.push_back(longest->text + "=" + std::to_string(longest->id));
    at += longest->text.size();
  }
  if (!rest.empty()) out.push_back(rest);
  return out;
}

std::string random_letters(std::mt19937& random, size_t most) {
  std::string text(random() % (most + 1), 'a');
  for (char& c : text) c = char('a' + random() % 3);
  return text;
}

TEST(AddedTokens, AreThoseThatAPlainSearchFinds) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<AddedToken> tokens(random() % 6);
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = {.text = random_letters(random, 4), .id = int32_t(i)};
    const std::string text = random_letters(random, 30);
    ASSERT_EQ(split(AddedTokens(tokens), text), plain_split(tokens, text)) << text;
  }
}

TEST(AddedTokens, TakeTimeByTheTextWhateverTheyAre) {
  std::vector<AddedToken> sentinels;
  for (int32_t k = 0; k < 1 << 18; ++k)
    sentinels.push_back({.text = "<extra_id_" + std::to_string(k) + ">", .id = k});
  const std::string long_token = std::string(1 << 16, 'a') + "b";
  for (const auto& [tokens, text] :
       {std::pair(sentinels, std::string(1 << 20, '<')),
        {std::vector<AddedToken>{{.text = long_token}, {.text = "a", .id = 1}},
         std::string(1 << 19, 'a')}}) {
    EXPECT_LT(testing_support::processor_seconds([&] { AddedTokens(tokens).split(text); }), 4);
  }
}

}  // namespace
}  // namespace zero
