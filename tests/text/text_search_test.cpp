// Ranks: 1
// Texts of a formula in place of a model, against those of Hugging Face's generate():
// tools/golden/generation_golden.py has the formula.
#include "src/text/text_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/golden.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/search_options.hpp"

namespace zero::writing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Tokens = std::vector<int32_t>;

constexpr int32_t kStart = 0, kEnd = 1;

const json& golden() {
  static const json kRead = json::parse(std::ifstream(ZERO_GOLDEN_FOLDER "/generation.json"));
  return kRead;
}

/// `text` is what was written so far.
std::vector<float> logits_of(const Tokens& source, const Tokens& text) {
  uint32_t told = 0, factor = 1;
  for (const int32_t token : source) {
    told += uint32_t(token) * factor;
    factor *= 31;
  }
  const uint32_t stream = zero::testing::golden_hash(
      zero::testing::golden_hash(7 + uint32_t(text.size() % 4), uint32_t(text.back())), told);
  std::vector<float> logits;
  for (uint32_t v = 0; v < uint32_t(golden()["vocabulary"]); ++v) {
    const double share = double(zero::testing::golden_hash(stream, v)) / 4294967296.0;
    logits.push_back(float(8 * (share - 0.5) + (int32_t(v) == kEnd ? 1.5 : 0.0)));
  }
  return logits;
}

SearchRules rules_of(const json& options) {
  SearchRules rules = testing_support::search_rules(options, golden()["max_length"]);
  rules.scores.eos_token_id = {kEnd};
  return rules;
}

ScoreRules scores_of(const json& options) { return rules_of(options).scores; }

Tokens written(const SearchRules& rules, const Tokens& source, const Tokens& beginning = {kStart}) {
  const auto search = search_text(rules, source, beginning);
  while (!search->ended()) {
    std::vector<float> logits;
    for (const Tokens& row : search->rows()) {
      const std::vector<float> more = logits_of(source, row);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    search->advance(logits);
  }
  return search->best();
}

std::string digits(const Tokens& tokens) {
  std::string word;
  for (const int32_t token : tokens) word += "0123456789abcdefghijklmnopqrstuv"[token];
  return word;
}

TEST(TextSearch, WritesWhatGenerateWritesUnderEachRule) {
  int64_t texts = 0;
  for (const json& test : golden()["cases"]) {
    const SearchRules rules = rules_of(test["options"]);
    for (size_t i = 0; i < test["texts"].size(); ++i, ++texts) {
      EXPECT_EQ(digits(written(rules, golden()["prompts"][i])), test["texts"][i].get<std::string>())
          << test["options"] << " of prompt " << i;
    }
  }
  EXPECT_EQ(texts, 54 * 60);
}

TEST(TextSearch, RowsKnowWhomTheyGoOnFrom) {
  const SearchRules rules{.scores = scores_of({{"min_length", 12}}), .num_beams = 4};
  const auto search = search_text(rules, Tokens{2, 3}, Tokens{kStart});
  bool moved = false;
  while (!search->ended()) {
    const std::vector<Tokens> before(search->rows().begin(), search->rows().end());
    std::vector<float> logits;
    for (const Tokens& row : before) {
      const std::vector<float> more = logits_of({2, 3}, row);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    search->advance(logits);
    for (size_t row = 0; row < 4; ++row) {
      const int32_t parent = search->parents()[row];
      Tokens begun = search->rows()[row];
      begun.pop_back();
      EXPECT_EQ(begun, before[size_t(parent)]);
      moved |= parent != int32_t(row);
    }
  }
  EXPECT_TRUE(moved);
}

TEST(TextSearch, ADrawnTextFollowsFromItsSeed) {
  SearchRules rules{.scores = scores_of(json::object()),
                    .choice = {.draws = DrawRules{}, .seed = 5}};
  const Tokens first = written(rules, {4, 5, 6});
  EXPECT_EQ(written(rules, {4, 5, 6}), first);
  rules.choice.seed = 6;
  EXPECT_NE(written(rules, {4, 5, 6}), first);
}

TEST(TextSearch, RulesThatLeaveNoTokenAreRefused) {
  Tokens all(golden()["vocabulary"].get<size_t>());
  std::iota(all.begin(), all.end(), 0);
  for (const int64_t beams : {1, 4}) {
    SearchRules rules{.scores = scores_of(json::object()), .num_beams = beams};
    rules.scores.suppress_tokens = all;
    const auto write = [&] { written(rules, {4, 5, 6}); };
    EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, write), HasSubstr("leave no token"));
  }
}

/// Every token may come once, but for the end, which may not come before all others have.
SearchRules that_run_out(int64_t beams, std::atomic<int64_t>& stuck) {
  SearchRules rules{.scores = scores_of({{"no_repeat_ngram_size", 1}}), .num_beams = beams};
  const int64_t vocabulary = golden()["vocabulary"];
  rules.scores.min_new_tokens = rules.scores.max_length = 2 * vocabulary;
  rules.stuck = &stuck;
  return rules;
}

TEST(TextSearch, ATextThatTheRulesLeaveNoTokenEndsWhereThatIsCounted) {
  const size_t vocabulary = golden()["vocabulary"];
  for (const int64_t beams : {1, 4}) {
    std::atomic<int64_t> stuck{0};
    const Tokens text = written(that_run_out(beams, stuck), {4, 5, 6});
    EXPECT_EQ(stuck, 1) << beams << " beams";
    Tokens sorted = text;
    std::ranges::sort(sorted);
    EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end()) << digits(text);
    EXPECT_EQ(text.size(), vocabulary - 1) << "all but the end";
  }
}

TEST(TextSearch, ABeamThatEndsSoLeavesTheOthersToGoOn) {
  // After 2 nothing may follow, and after 3 only the end and 2.
  std::atomic<int64_t> stuck{0};
  SearchRules rules{.scores = {.max_length = 4, .eos_token_id = {kEnd}}, .num_beams = 2};
  rules.scores.no_repeat_ngram_size = 1;
  rules.stuck = &stuck;
  const auto search = search_text(rules, Tokens{9}, Tokens{kStart});
  EXPECT_EQ(search->rows().size(), 2u);
  const float inf = std::numeric_limits<float>::infinity();
  search->advance(std::vector<float>{0, -inf, 1, 0, 0, -inf, 1, 0});
  ASSERT_FALSE(search->ended());
  EXPECT_EQ(search->rows()[0], (Tokens{kStart, 2}));
  EXPECT_EQ(search->rows()[1], (Tokens{kStart, 3}));
  search->advance(std::vector<float>{0, -inf, 0, -inf, 0, 5, 0, 0});
  EXPECT_TRUE(search->ended());
  EXPECT_EQ(search->best(), (Tokens{kStart, 2}));
  EXPECT_EQ(stuck, 1);
}

TEST(ApplyRules, TellScoresThatAreNoNumbersFromRulesThatLeaveNone) {
  const Tokens tokens = {2};
  std::vector<float> scores(4, std::numeric_limits<float>::quiet_NaN());
  const auto apply = [&] { apply_rules({.suppress_tokens = {0, 3}}, {.tokens = tokens}, scores); };
  EXPECT_THAT(testing_support::refusal_of(Exit::kNumerics, apply),
              HasSubstr("behind 1 tokens is no number"));
}

TEST(Narrow, LeavesWhatGenerateDrawsFrom) {
  for (const json& test : golden()["drawn"]) {
    const Tokens tokens = test["tokens"],
                 source = golden()["prompts"][test["prompt"].get<size_t>()];
    const json& options = test["options"];
    std::vector<float> scores = logits_of(source, tokens);
    apply_rules(scores_of(options), {.source = source, .tokens = tokens}, scores);
    narrow({.temperature = options.value("temperature", 1.0),
            .top_k = options.value("top_k", 0),
            .top_p = options.value("top_p", 1.0)},
           scores);
    const std::vector<double> shares = probabilities(scores);
    for (size_t v = 0; v < shares.size(); ++v) {
      EXPECT_NEAR(shares[v], test["probabilities"][v].get<double>(), 1e-5) << options << " " << v;
    }
  }
  EXPECT_EQ(golden()["drawn"].size(), 60u);
}

}  // namespace
}  // namespace zero::writing
