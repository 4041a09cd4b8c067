// Ranks: 1
#include "zero/text/search_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/models.hpp"
#include "tests/support/processor_time.hpp"
#include "tests/support/refusal.hpp"

namespace zero::writing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::model_named;
using testing_support::refusal_of;

SearchRules rules_of(const GenerationConfig& generation, const std::string& name = "t5-small") {
  return search_rules(generation, model_named(name), 64, 7);
}

TEST(SearchRules, OfNothingWrittenAreGreedyAndAsLongAsTargets) {
  const SearchRules rules = rules_of({});
  EXPECT_FALSE(rules.choice.draws);
  EXPECT_EQ(rules.max_new_tokens, 64);
  EXPECT_EQ(rules.scores.max_length, 0);
  EXPECT_EQ(rules.num_beams, 1);
  EXPECT_THAT(rules.scores.eos_token_id, ElementsAre(1)) << "a T5's";
  EXPECT_TRUE(rules_of({}, "gpt2").scores.eos_token_id.empty()) << "which no file of it says";
}

TEST(SearchRules, TakeEveryKey) {
  const SearchRules rules = rules_of({.max_length = 20,
                                      .min_length = 5,
                                      .num_beams = 4,
                                      .length_penalty = 2,
                                      .early_stopping = BeamEnd::never,
                                      .repetition_penalty = 1.2,
                                      .no_repeat_ngram_size = 3,
                                      .encoder_no_repeat_ngram_size = 4,
                                      .forced_bos_token_id = 8,
                                      .forced_eos_token_id = std::vector<int64_t>{1},
                                      .suppress_tokens = std::vector<int64_t>{5, 6},
                                      .begin_suppress_tokens = std::vector<int64_t>{7},
                                      .eos_token_id = std::vector<int64_t>{1, 9}});
  EXPECT_EQ(rules.scores.max_length, 20);
  EXPECT_EQ(rules.max_new_tokens, 0);
  EXPECT_EQ(rules.scores.min_length, 5);
  EXPECT_EQ(rules.num_beams, 4);
  EXPECT_EQ(rules.length_penalty, 2);
  EXPECT_EQ(rules.early_stopping, BeamEnd::never);
  EXPECT_EQ(rules.scores.repetition_penalty, 1.2);
  EXPECT_EQ(rules.scores.no_repeat_ngram_size, 3);
  EXPECT_EQ(rules.scores.encoder_no_repeat_ngram_size, 4);
  EXPECT_EQ(rules.scores.forced_bos_token_id, 8);
  EXPECT_THAT(rules.scores.forced_eos_token_id, ElementsAre(1));
  EXPECT_THAT(rules.scores.suppress_tokens, ElementsAre(5, 6));
  EXPECT_THAT(rules.scores.begin_suppress_tokens, ElementsAre(7));
  EXPECT_THAT(rules.scores.eos_token_id, ElementsAre(1, 9));
}

TEST(SearchRules, DrawByTheSeedAsHuggingFaceDoes) {
  const SearchRules rules =
      rules_of({.min_length = 9, .min_new_tokens = 3, .do_sample = true, .temperature = 0.5});
  ASSERT_TRUE(rules.choice.draws);
  EXPECT_EQ(rules.choice.draws->temperature, 0.5);
  EXPECT_EQ(rules.choice.draws->top_k, 50);
  EXPECT_EQ(rules.choice.draws->top_p, 1);
  EXPECT_EQ(rules.choice.seed, 7u);
  EXPECT_EQ(rules.scores.min_new_tokens, 3);
  EXPECT_EQ(rules.scores.min_length, 0) << "which the other takes the place of";
}

TEST(SearchRules, RefuseIdsBeyondTheVocabularyAndTextsBeyondThePositions) {
  const auto refusal = [](const GenerationConfig& generation, const std::string& name) {
    return refusal_of(Exit::kUsage, [&] { rules_of(generation, name); });
  };
  EXPECT_THAT(refusal({.suppress_tokens = std::vector<int64_t>{32128}}, "t5-small"),
              HasSubstr("generation.suppress_tokens: id 32128 is beyond the model's vocabulary"));
  const std::string name = "blenderbot-400M-distill";
  EXPECT_THAT(refusal({.max_length = 130}, name),
              HasSubstr("generation.max_length: texts of 130 tokens are longer than the model's "
                        "128 positions; write 129 or less"));
  EXPECT_THAT(refusal({.max_new_tokens = 129}, name), HasSubstr("write 128 or less"));
  EXPECT_THAT(refusal({.max_length = 1 << 24}, "t5-small"),
              HasSubstr("texts of 16777216 tokens are longer than the 65536 that are written, as "
                        "the model has no bound; write 65537 or less"));
  EXPECT_EQ(refusal({.max_length = 65537}, "t5-small"), "");
  EXPECT_EQ(refusal({.max_length = 129}, name), "");
  EXPECT_EQ(refusal({.max_new_tokens = 128}, name), "");
}

/// Places that are still allowed.
std::vector<int> allowed(const std::vector<float>& scores) {
  std::vector<int> places;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isinf(scores[i])) places.push_back(int(i));
  }
  return places;
}

std::vector<int> narrowed(const DrawRules& rules, std::vector<float> scores) {
  narrow(rules, scores);
  return allowed(scores);
}

TEST(Narrow, KeepsTheFewestTokensWhoseSharesReachTopP) {
  const std::vector<float> equal = {0, 0, 0, 0};  // a quarter each, without rounding
  EXPECT_THAT(narrowed({.top_p = 0.5}, equal), ElementsAre(2, 3)) << "exactly a half";
  EXPECT_THAT(narrowed({.top_p = 0.75}, equal), ElementsAre(1, 2, 3));
  EXPECT_THAT(narrowed({.top_p = 0.76}, equal), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(narrowed({.top_p = 1e-9}, equal), ElementsAre(3)) << "the likeliest stays";
  EXPECT_THAT(narrowed({.top_p = 1}, equal), ElementsAre(0, 1, 2, 3));
}

TEST(Narrow, KeepsTheKLargestAndTheirEquals) {
  EXPECT_THAT(narrowed({.top_k = 1}, {3, 1, 2}), ElementsAre(0));
  EXPECT_THAT(narrowed({.top_k = 2}, {3, 1, 2}), ElementsAre(0, 2));
  EXPECT_THAT(narrowed({.top_k = 3}, {3, 1, 2}), ElementsAre(0, 1, 2));
  EXPECT_THAT(narrowed({.top_k = 1}, {2, 1, 2}), ElementsAre(0, 2));
}

/// Returns the ids, of 0 to 3, that may follow `tokens` tokens of which `beginning` were given.
std::vector<int> following(const ScoreRules& rules, size_t tokens, int64_t beginning) {
  const std::vector<int32_t> written(tokens, 0);
  std::vector<float> scores(4, 0);
  EXPECT_TRUE(try_rules(rules, {.tokens = written, .beginning = beginning}, scores));
  return allowed(scores);
}

TEST(BeginSuppressTokens, ActDirectlyBehindTheBeginningHoweverLongItIs) {
  const ScoreRules rules{.begin_suppress_tokens = {1}};
  for (const int64_t beginning : {1, 2, 5}) {
    const size_t begun = size_t(beginning);
    EXPECT_THAT(following(rules, begun, beginning), ElementsAre(0, 2, 3)) << beginning;
    EXPECT_THAT(following(rules, begun + 1, beginning), ElementsAre(0, 1, 2, 3)) << beginning;
  }
}

TEST(BeginSuppressTokens, ActOneLaterWhereTheFirstTokenIsForced) {
  const ScoreRules rules{.forced_bos_token_id = 2, .begin_suppress_tokens = {1}};
  EXPECT_THAT(following(rules, 1, 1), ElementsAre(2));
  EXPECT_THAT(following(rules, 2, 1), ElementsAre(0, 2, 3));
  EXPECT_THAT(following(rules, 3, 3), ElementsAre(0, 2, 3)) << "a longer prompt forces none";
}

/// The scores behind `tokens`, of ten tokens that are as likely.
std::vector<float> ruled(const ScoreRules& rules, std::span<const int32_t> tokens,
                         std::span<const int32_t> source = {}) {
  std::vector<float> scores(10, 0);
  try_rules(rules, {.source = source, .tokens = tokens}, scores);
  return scores;
}

TEST(ScoreRules, ForbidWhatEndsAnNgramForTheSecondTime) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<int32_t> tokens(1 + random() % 20), source(random() % 20);
    for (int32_t& token : tokens) token = int32_t(random() % 3);
    for (int32_t& token : source) token = int32_t(random() % 3);
    const size_t n = 1 + random() % 5;
    std::vector<float> expected(10, 0);
    const std::span begun = std::span(tokens).last(std::min(n - 1, tokens.size()));
    for (size_t at = 0; begun.size() == n - 1 && at + n <= source.size(); ++at) {
      if (std::ranges::equal(std::span(source).subspan(at, n - 1), begun))
        expected[size_t(source[at + n - 1])] = -std::numeric_limits<float>::infinity();
    }
    const ScoreRules rules{.encoder_no_repeat_ngram_size = int64_t(n)};
    EXPECT_EQ(ruled(rules, tokens, source), expected) << round;
  }
}

TEST(ScoreRules, TakeTimeByTheTextWhateverItRepeats) {
  const std::vector<int32_t> tokens(1 << 16, 7), source(1 << 16, 7);
  const ScoreRules rules{.encoder_no_repeat_ngram_size = 1 << 15};
  EXPECT_LT(testing_support::processor_seconds([&] { ruled(rules, tokens, source); }), 0.2);
}

TEST(SuppressUnknown, LeavesTheTokenizersIdsAndEnds) {
  ScoreRules rules{.suppress_tokens = {7}, .eos_token_id = {257}};
  suppress_unknown(*open_tokenizer("bytes"), {.vocabulary = 260, .positions = 8}, rules);
  EXPECT_EQ(rules.suppress_tokens, (std::vector<int32_t>{7, 256, 258, 259}));
}

}  // namespace
}  // namespace zero::writing
