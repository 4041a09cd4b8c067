// Ranks: 1

#include "zero/model/choice_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "zero/base/error.hpp"

namespace zero::model {
namespace {

using ::testing::ElementsAre;

std::vector<SampleScore> sums(const std::vector<double>& values) {
  std::vector<SampleScore> scores;
  for (const double value : values) scores.push_back({.sum = value});
  return scores;
}

double value_of(const char* name, double loss, std::vector<int64_t> counts) {
  for (const Metric& metric : scoring_metrics())
    if (metric.name == name) return metric.value(loss, counts);
  ADD_FAILURE() << name;
  return 0;
}

TEST(ChoiceScores, DivideByCharactersAndByBytes) {
  // By sums the first is the best, by characters (-1.5, -1, -2) the second, by bytes (-0.5, -1, -2)
  // the first again.
  const std::vector<SampleScore> scores = sums({-3, -4, -8});
  const auto of = [&](int64_t answer) {
    return count_choices({.answer = answer, .characters = {2, 4, 4}, .bytes = {6, 4, 4}}, scores);
  };
  EXPECT_EQ(of(0), (ChoiceCounts{.records = 1, .right = 1, .right_by_byte = 1}));
  EXPECT_EQ(of(1), (ChoiceCounts{.records = 1, .right_by_character = 1}));
  EXPECT_EQ(of(2), (ChoiceCounts{.records = 1}));
}

TEST(ChoiceScores, OfEqualScoresTheFirstCounts) {
  const std::vector<SampleScore> scores = sums({-2, -1, -1});
  const ScoredChoices record{.answer = 1, .characters = {1, 1, 1}, .bytes = {1, 1, 1}};
  EXPECT_EQ(count_choices(record, scores).right, 1);
}

TEST(ChoiceScores, CountAnswersThatGreedyTextsWouldHave) {
  std::vector<SampleScore> scores = sums({-1, -9});
  const ScoredChoices record{.answer = 1, .characters = {1, 1}, .bytes = {1, 1}};
  scores[0].is_greedy = true;
  EXPECT_EQ(count_choices(record, scores).greedy, 0) << "it is that of another choice";
  scores[1].is_greedy = true;
  EXPECT_EQ(count_choices(record, scores).greedy, 1);
}

TEST(ChoiceScores, AddUpOverRecords) {
  ChoiceCounts counts{.records = 1, .right = 1};
  counts += {.records = 3, .right = 1, .right_by_character = 2, .right_by_byte = 3, .greedy = 1};
  EXPECT_EQ(
      counts,
      (ChoiceCounts{
          .records = 4, .right = 2, .right_by_character = 2, .right_by_byte = 3, .greedy = 1}));
}

TEST(ChoiceScores, RefuseAnotherNumberOfScores) {
  EXPECT_THROW(count_choices({.answer = 0, .characters = {1}, .bytes = {1}}, sums({-1, -2})),
               Error);
}

TEST(ScoringMetrics, AreSharesOfRecords) {
  const std::vector<int64_t> counts = {8, 1, 2, 3, 4};
  EXPECT_EQ(value_of("acc", 0, counts), 0.125);
  EXPECT_EQ(value_of("acc_norm", 0, counts), 0.25);
  EXPECT_EQ(value_of("acc_bytes", 0, counts), 0.375);
  EXPECT_EQ(value_of("acc_greedy", 0, counts), 0.5);
}

TEST(ScoringMetrics, AreByWordAndByByte) {
  const double loss = 8 * std::log(2.0);  // 8 bits
  EXPECT_NEAR(value_of("word_perplexity", loss, {2, 16}), 16, 1e-12);
  EXPECT_NEAR(value_of("byte_perplexity", loss, {2, 16}), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(value_of("bits_per_byte", loss, {2, 16}), 0.5, 1e-12);
}

TEST(ScoringMetrics, SayWhichIsBetter) {
  std::vector<bool> higher;
  for (const Metric& metric : scoring_metrics()) higher.push_back(metric.higher_is_better);
  EXPECT_THAT(higher, ElementsAre(true, true, true, true, false, false, false));
}

}  // namespace
}  // namespace zero::model
