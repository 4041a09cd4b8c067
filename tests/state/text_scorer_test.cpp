// Ranks: 1

#include "zero/state/text_scorer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/graph/token_scores.hpp"
#include "zero/setup/build.hpp"

namespace zero::state {
namespace {

using model::SampleScore;

double measured(const Evaluation& evaluation, const char* name) {
  const auto* found = evaluation.measured(name);
  return found ? found->value : std::nan("");
}

TEST(TextScorer, AddsTheMetricsOfChoices) {
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

TEST(TextScorer, AddsTheMetricsOfDocuments) {
  ScoredSet set;
  set.words = 2, set.bytes = 8;
  Evaluation evaluation{.loss = 2};
  add_scores(set, {{-3 * std::log(2.0)}, {-std::log(2.0)}}, model::document_objective(),
             evaluation);
  EXPECT_NEAR(measured(evaluation, "word_perplexity"), 4, 1e-12);
  EXPECT_NEAR(measured(evaluation, "bits_per_byte"), 0.5, 1e-12);
  EXPECT_EQ(evaluation.measured("acc"), nullptr);
}

TEST(TextScorer, MakesTheLossOfBrokenWeightsNaN) {
  ScoredSet set;
  set.words = 1, set.bytes = 1;
  for (const double broken : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Evaluation evaluation{.loss = 2};
    add_scores(set, {{-1}, {-broken}}, model::next_token_objective(), evaluation);
    EXPECT_TRUE(std::isnan(evaluation.loss));
  }
}

/// Two short texts and a long one.
RunConfig with_choices(const std::string& path) {
  RunConfig config;
  config.model = testing_support::model_config(
      {.counts = {{"layers", 1}, {"width", 64}, {"heads", 2}}, .rates = {{"dropout", 0}}});
  config.data.train = "synthetic";
  config.data.sequence_length = 64;
  config.evaluation.choices = path;
  config.evaluation.micro_batch_size = 2;
  config.run.steps = 1;
  config.train_batch_size = config.train_micro_batch_size_per_gpu = 1;
  return config;
}

TEST(TextScorer, RunsShortTextsInFormsOfTheEvaluationAlone) {
  const testing_support::TempFile file(
      "a.jsonl",
      "{\"context\": \"x\", \"choices\": [\"b\", \"c\"], \"answer\": 0}\n"
      "{\"context\": \"y\", \"choices\": [\"" +
          std::string(60, 'd') + "\"], \"answer\": 0}\n");
  const RunConfig config = with_choices(file.path());
  setup::Build build = setup::build_evaluation(config, {});
  std::vector<ScoredSet> sets = setup::open_scored_sets(config);
  setup::group_scored(config, {}, build, sets);
  ASSERT_EQ(build.plan.forms(1), 2u);
  EXPECT_EQ(build.plan.forms(0), 1u);
  for (const int64_t first : {0, 2}) {
    const bool has_long =
        sets[0].samples->sample_at(first) == 2 || sets[0].samples->sample_at(first + 1) == 2;
    EXPECT_EQ(sets[0].samples->form_of(first, 2), has_long ? 1u : 0u) << first;
  }
  for (const size_t form : {0u, 1u}) {
    const graph::Graph& graph = build.plan.form(1, form);
    const int64_t length = sets[0].samples->columns_of(form).front().numel;
    EXPECT_EQ(graph[graph.output(graph::kTokenScoresOutput)].shape, Shape({2 * length, 2}));
  }
}

TEST(TextScorer, IsOutputOfEvaluationsThatScoreAlone) {
  RunConfig config = with_choices("");
  config.evaluation = {};
  const setup::Build build = setup::build_evaluation(config, {});
  EXPECT_THROW(build.plan.output(0, graph::kTokenScoresOutput), Error);
}

}  // namespace
}  // namespace zero::state
