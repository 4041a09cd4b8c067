// Ranks: 1
#include "zero/text/continuation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/refusal.hpp"

namespace zero::writing {
namespace {

TEST(Draw, FollowsTheSoftmax) {
  // Weights 1, 2, 1: borders at a quarter and at three quarters.
  const std::vector<float> logits = {0.0f, std::log(2.0f), 0.0f};
  EXPECT_EQ(draw(logits, 0.0), 0);
  EXPECT_EQ(draw(logits, 0.24), 0);
  EXPECT_EQ(draw(logits, 0.26), 1);
  EXPECT_EQ(draw(logits, 0.74), 1);
  EXPECT_EQ(draw(logits, 0.76), 2);
}

TEST(ChooseToken, ALowTemperatureTakesTheLikeliest) {
  const std::vector<float> logits = {0.0f, 1.0f, 0.5f};
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(choose_token(logits, {.draws = DrawRules{.temperature = 1e-3}}, i), 1);
  }
}

TEST(ChooseToken, GreedyTakesTheFirstOfTheLikeliest) {
  EXPECT_EQ(choose_token(std::vector<float>{0, 2, 1, 2}, {}, 5), 1);
}

TEST(ChooseToken, DrawsOfSeedAndNumberAlone) {
  const std::vector<float> flat(1000, 0.0f);
  const TokenChoice one{.draws = DrawRules{}, .seed = 1}, two{.draws = DrawRules{}, .seed = 2};
  EXPECT_EQ(choose_token(flat, one, 3), choose_token(flat, one, 3));
  EXPECT_NE(choose_token(flat, one, 3), choose_token(flat, one, 4));
  EXPECT_NE(choose_token(flat, one, 3), choose_token(flat, two, 3));
}

/// The token that text `number` begins with.
int32_t first_of(uint64_t seed, uint64_t number, const std::vector<float>& logits) {
  return choose_token(logits, {.draws = DrawRules{}, .seed = seed, .text = number}, 0);
}

/// A seed that drew line n as the one before it drew line n + 1 made 1,999 of 1,999 agree.
TEST(ChooseToken, NeighbouringSeedsDrawNeighbouringTextsAsOftenAlikeAsChanceSays) {
  constexpr int kTokens = 50, kSeeds = 2000, kTexts = 8;
  const std::vector<float> flat(kTokens, 0.0f);
  int pairs = 0, shifted = 0, same_text = 0, same_seed = 0;
  for (uint64_t seed = 1; seed < kSeeds; ++seed) {
    for (uint64_t text = 0; text + 1 < kTexts; ++text) {
      const int32_t here = first_of(seed, text, flat);
      ++pairs;
      shifted += int(first_of(seed + 1, text, flat) == first_of(seed, text + 1, flat));
      same_text += int(here == first_of(seed + 1, text, flat));
      same_seed += int(here == first_of(seed, text + 1, flat));
    }
  }
  const double expected = double(pairs) / kTokens;
  for (const int agreeing : {shifted, same_text, same_seed})
    EXPECT_NEAR(agreeing, expected, 5 * std::sqrt(expected));
}

TEST(ChooseToken, AFirstTextIsDrawnAsEverAndAnotherByItsNumber) {
  std::vector<float> flat(100, 0.0f);
  const auto drawn = [&](uint64_t text) {
    std::vector<int32_t> tokens;
    for (uint32_t number = 0; number < 5; ++number) {
      tokens.push_back(choose_token(flat, {.draws = DrawRules{}, .seed = 7, .text = text}, number));
    }
    return tokens;
  };
  EXPECT_EQ(drawn(0), (std::vector<int32_t>{17, 85, 30, 60, 85}));
  EXPECT_EQ(drawn(1), (std::vector<int32_t>{83, 68, 70, 81, 43}));
  EXPECT_EQ(drawn(uint64_t(1) << 32), (std::vector<int32_t>{49, 45, 47, 79, 83}));
}

TEST(ChooseToken, TopKDrawsAmongTheLargestOnly) {
  const std::vector<float> logits = {1, 3, 2, -1, 0, 3.5f};
  const auto among = [](int64_t k) {
    return TokenChoice{.draws = DrawRules{.temperature = 2, .top_k = k}};
  };
  std::map<int32_t, int> drawn;
  for (uint32_t i = 0; i < 2000; ++i) ++drawn[choose_token(logits, among(3), i)];
  EXPECT_EQ(drawn.size(), 3u);
  EXPECT_GT(drawn[5], drawn[1]);
  EXPECT_GT(drawn[1], drawn[2]);
  EXPECT_GT(drawn[2], 0);
  EXPECT_EQ(choose_token(logits, among(1), 9), 5);
  EXPECT_EQ(choose_token(logits, among(6), 9), choose_token(logits, among(99), 9))
      << "more than there are is all";
}

/// Remembers what it was fed; always says the sum of its context modulo 10.
struct Adder {
  std::vector<int32_t> held;
  std::vector<std::vector<int32_t>> fed = {};
  std::vector<float> logits = std::vector<float>(12);

  Language language(int64_t context) {
    return {.feed =
                [this, context](std::span<const int32_t> tokens) {
                  fed.emplace_back(tokens.begin(), tokens.end());
                  held.insert(held.end(), tokens.begin(), tokens.end());
                  EXPECT_LE(int64_t(held.size()), context);
                  int32_t sum = 0;
                  for (int32_t token : held) sum += token;
                  std::fill(logits.begin(), logits.end(), 0.0f);
                  logits[size_t(sum % 10)] = 1;
                  logits[11] = 2;
                  return std::span<const float>(logits);
                },
            .clear = [this] { held.clear(); },
            .context = context,
            .vocabulary = 10};
  }
};

std::vector<int32_t> continued(Adder& adder, int64_t context, std::vector<int32_t> prompt,
                               int64_t n) {
  std::vector<int32_t> made;
  continue_tokens(adder.language(context), prompt, n, {}, {},
                  [&](int32_t t) { made.push_back(t); });
  return made;
}

TEST(ContinueTokens, FeedsThePromptThenEachToken) {
  Adder adder;
  EXPECT_EQ(continued(adder, 100, {1, 2}, 4), (std::vector<int32_t>{3, 6, 2, 4}))
      << "token 11 is none of the vocabulary";
  EXPECT_EQ(adder.fed, (std::vector<std::vector<int32_t>>{{1, 2}, {3}, {6}, {2}}));
}

TEST(ContinueTokens, AFullContextForgetsItsOlderHalf) {
  Adder adder;
  EXPECT_EQ(continued(adder, 4, {1, 2}, 5), (std::vector<int32_t>{3, 6, 2, 1, 2}));
  EXPECT_EQ(adder.fed, (std::vector<std::vector<int32_t>>{{1, 2}, {3}, {6}, {3, 6, 2}, {1}}));
}

TEST(ContinueTokens, ATextEndsAtAContextThatDoesNotSlide) {
  Adder adder;
  Language language = adder.language(4);
  language.slides = false;
  std::vector<int32_t> made;
  const auto go_on = [&](const std::vector<int32_t>& prompt) {
    continue_tokens(language, prompt, 5, {}, {}, [&](int32_t token) { made.push_back(token); });
  };
  go_on({1, 2});
  EXPECT_EQ(made, (std::vector<int32_t>{3, 6, 2})) << "no token sees less than the whole text";
  const std::string error = testing_support::refusal_of(Exit::kUsage, [&] {
    go_on({9, 9, 1, 1, 1});
  });
  EXPECT_THAT(error, ::testing::HasSubstr("a prompt of 5 tokens in a context of 4, which does not "
                                          "slide: shorten the prompt"));
}

TEST(ContinueTokens, OfALongPromptTheEndIsSeen) {
  Adder adder;
  EXPECT_EQ(continued(adder, 4, {9, 9, 1, 1, 1, 1}, 2), (std::vector<int32_t>{4, 6}));
  EXPECT_EQ(adder.fed, (std::vector<std::vector<int32_t>>{{1, 1, 1, 1}, {1, 1, 4}}));
}

TEST(ContinueTokens, AContextOfOneSeesTheLastToken) {
  Adder adder;
  EXPECT_EQ(continued(adder, 1, {4, 7}, 3), (std::vector<int32_t>{7, 7, 7}));
}

TEST(ContinueTokens, RulesSeeWhatTheContextHasForgotten) {
  Adder adder;
  std::vector<int32_t> made;
  continue_tokens(adder.language(2), std::vector<int32_t>{1, 2}, 6, {.no_repeat_ngram_size = 1}, {},
                  [&](int32_t token) { made.push_back(token); });
  std::vector<int32_t> sorted = made;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "none comes twice";
  EXPECT_TRUE(std::ranges::find(made, 1) == made.end());
}

TEST(ContinueTokens, RulesThatLeaveNoTokenAreRefused) {
  Adder adder;
  const auto go_on = [&] {
    continue_tokens(adder.language(100), std::vector<int32_t>{1, 2}, 20,
                    {.no_repeat_ngram_size = 1}, {}, [](int32_t) {});
  };
  EXPECT_NE(testing_support::refusal_of(Exit::kUsage, go_on).find("leave no token"),
            std::string::npos);
}

TEST(ChooseToken, NoTemperatureIsTooLow) {
  const std::vector<float> logits = {1, 3, 2, 3.5f, -1};
  for (const int64_t k : {0, 2}) {
    const TokenChoice cold{.draws = DrawRules{.temperature = 1e-300, .top_k = k}};
    for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(choose_token(logits, cold, i), 3);
  }
}

TEST(ContinueTokens, AnEndTokenEndsTheText) {
  Adder adder;
  std::vector<int32_t> made;
  continue_tokens(adder.language(100), std::vector<int32_t>{1, 2}, 9, {.eos_token_id = {2}}, {},
                  [&](int32_t token) { made.push_back(token); });
  EXPECT_EQ(made, (std::vector<int32_t>{3, 6, 2}));
}

}  // namespace
}  // namespace zero::writing
