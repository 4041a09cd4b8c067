// Ranks: 1

#include "zero/state/text_scorer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace zero::state {
namespace {

using model::SampleScore;

double measured(const Evaluation& evaluation, const char* name) {
  const auto* found = evaluation.measured(name);
  return found ? found->value : std::nan("");
}

TEST(Scorer, AddsTheMetricsOfChoices) {
  ScoredSet set;
  set.choices = {{.first = 0, .answer = 0, .characters = {1, 1}, .bytes = {1, 1}},
                 {.first = 2, .answer = 1, .characters = {1, 4}, .bytes = {1, 4}}};
  Evaluation evaluation{.loss = 2};
  add_scores(set, {{-1}, {-2}, {-3}, {-8, true}}, model::next_token_objective(), evaluation);
  EXPECT_EQ(measured(evaluation, "acc"), 0.5);
  EXPECT_EQ(measured(evaluation, "acc_norm"), 1);
  EXPECT_EQ(measured(evaluation, "acc_greedy"), 0.5);
  EXPECT_EQ(evaluation.measured("bits_per_byte"), nullptr);
  EXPECT_EQ(evaluation.loss, 2);
}

TEST(Scorer, AddsTheMetricsOfDocuments) {
  ScoredSet set;
  set.words = 2, set.bytes = 8;
  Evaluation evaluation{.loss = 2};
  add_scores(set, {{-3 * std::log(2.0)}, {-std::log(2.0)}}, model::document_objective(),
             evaluation);
  EXPECT_NEAR(measured(evaluation, "word_perplexity"), 4, 1e-12);
  EXPECT_NEAR(measured(evaluation, "bits_per_byte"), 0.5, 1e-12);
  EXPECT_EQ(evaluation.measured("acc"), nullptr);
}

TEST(Scorer, MakesTheLossOfBrokenWeightsNaN) {
  ScoredSet set;
  set.words = 1, set.bytes = 1;
  for (const double broken : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Evaluation evaluation{.loss = 2};
    add_scores(set, {{-1}, {-broken}}, model::next_token_objective(), evaluation);
    EXPECT_TRUE(std::isnan(evaluation.loss));
  }
}

}  // namespace
}  // namespace zero::state
