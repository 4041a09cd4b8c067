// Ranks: 1
#include "zero/model/objective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/model/blenderbot.hpp"
#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/graph/operations.hpp"
#include "zero/model/label_scores.hpp"
#include "zero/model/recipe.hpp"
#include "zero/model/text_scores.hpp"

namespace zero::model {
namespace {

using testing_support::unset_config;

TEST(Objectives, TakeTheirDataAndTheirUnit) {
  EXPECT_EQ(&objective_for(unset_config()), &next_token_objective());
  EXPECT_EQ(next_token_objective().data, &token_data());
  EXPECT_EQ(document_objective().data, &document_data());
  EXPECT_EQ(span_objective().data, &span_data());
  EXPECT_EQ(label_objective().data, &label_data());
  for (const Objective* one : objectives())
    EXPECT_EQ(one->counted_by, one == &label_objective() ? kBySample : kByToken);
  testing_support::refusal_of(Exit::kInternal, [] { objective_for({}); });
}

TEST(Objectives, AreChosenByTheFilesOfARun) {
  RunConfig config = unset_config();
  for (const char* text : {"a.txt", "a.bin", "synthetic"}) {
    config.data.train = text;
    EXPECT_EQ(&objective_for(config), &next_token_objective()) << text;
  }
  for (const char* records : {"a.jsonl", "a.json.zst", "a.csv", "a.tsv", "a.documents"}) {
    config.data.train = records;
    EXPECT_EQ(&objective_for(config), &document_objective()) << records;
  }
  config.data.train = "a.txt";
  config.data.validation = "v.jsonl";
  EXPECT_EQ(&objective_for(config), &document_objective());
  config.data.validation = "";
  config.data.packing = Packing::stream;
  EXPECT_EQ(&objective_for(config), &document_objective());
}

TEST(Objectives, OfPairsScoreTextsByCounts) {
  TextCounts counts = count_text("the land is wide here", "the land is wide here");
  counts += count_text("no", "yes");
  const TextNumbers numbers = numbers_of(counts);
  EXPECT_EQ(text_counts(numbers), counts);
  const ObjectiveSettings& pairs = pair_objective().settings;
  EXPECT_EQ(pairs.metric("bleu")->value(0, numbers), bleu(counts));
  EXPECT_EQ(pairs.metric("exact_match")->value(0, numbers), 0.5);
  EXPECT_EQ(pairs.metric("perplexity")->value(2, {}), std::exp(2.0));
}

TEST(Objectives, OfLabelsMeasureClassesOrNumbers) {
  const auto names = [](int64_t labels) {
    std::vector<std::string_view> fitting;
    for (const Metric& metric : label_objective().settings.metrics)
      if (metric.measures(labels)) fitting.push_back(metric.name);
    return fitting;
  };
  EXPECT_THAT(names(2), ::testing::ElementsAre("accuracy", "f1", "matthews"));
  EXPECT_EQ(names(3), names(2));
  EXPECT_THAT(names(1), ::testing::ElementsAre("pearson", "spearman"));
  const std::vector<float> scores = {0, 1, 1, 0};
  const std::vector<double> truths = {1, 1};
  std::vector<double> room(6);
  const LabelScores half{.labels = 2, .scores = scores, .truths = truths, .room = room};
  EXPECT_EQ(label_objective().settings.metric("accuracy")->of_scores(half), 0.5);
}

/// A head of two classes behind the rows of a trunk.
void two_classes(graph::GraphBuilder& out, const Architecture& model, const Trunk& trunk,
                 const ForwardOptions& options) {
  out.unit("score");
  const int64_t width = model.numbers.count(kWidth);
  const graph::TensorId table =
      out.parameter({.name = "score.weight", .shape = {64, width}, .padding_rows = 62});
  const graph::TensorId label = out.input({.name = "label", .sample = {out.length()}, .ids = 2});
  graph::classifier(out, trunk.last, table, label, 2, options.micro.samples * options.micro.length);
}

Objective labels_objective() {
  return {.settings = {.name = "labels"},
          .data = &token_data(),
          .counted_by = kBySample,
          .fits = [](const Family& family) { return family.settings.name != "t5"; },
          .head = two_classes};
}

bool has_parameter(const graph::Graph& graph, std::string_view name) {
  return std::ranges::any_of(graph.parameters,
                             [&](const auto& one) { return graph[one.tensor].name == name; });
}

TEST(Objectives, OfAnotherHeadStandOnATrunkWithoutTheFamilysOwn) {
  const Objective objective = labels_objective();
  const Architecture model = Blenderbot{.layers = 1,
                                        .decoder_layers = 1,
                                        .width = 64,
                                        .heads = 2,
                                        .inner = 64,
                                        .decoder_inner = 64,
                                        .vocabulary = 70,
                                        .positions = 8};
  const GraphSizes sizes{.micro = {.samples = 1, .length = 8}};
  const graph::Graph own = graph_of({model}, Purpose::train, sizes);
  const graph::Graph other = graph_of({model, &objective}, Purpose::train, sizes);
  EXPECT_TRUE(has_parameter(own, "final_logits_bias") && !has_parameter(own, "score.weight"));
  EXPECT_TRUE(has_parameter(other, "score.weight") && !has_parameter(other, "final_logits_bias"));
  EXPECT_EQ(own.parameters.size(), other.parameters.size());
  EXPECT_NO_THROW(other.input("label"));
  EXPECT_TRUE(has_parameter(graph_of({model, &objective}, Purpose::store), "score.weight"));
}

TEST(Objectives, OfAnotherHeadAreKnownToCountsFactsAndTexts) {
  const Objective objective = labels_objective();
  const Architecture model = testing_support::model_named("gpt2");
  const Recipe own{model, &next_token_objective()}, other{model, &objective};
  EXPECT_EQ(parameter_count(own), 124'439'808);
  EXPECT_EQ(parameter_count(other), 124'439'808 + 2 * 768);
  EXPECT_EQ(fact(own), fact({model}));
  EXPECT_EQ(fact(other), fact({model}) + ", a head for labels");
  EXPECT_NO_THROW(require_decode(own));
  EXPECT_EQ(testing_support::refusal_of(Exit::kUsage, [&] { require_decode(other); }),
            "a GPT-2 with a head for labels writes no texts: zeroapp eval measures its loss");
}

TEST(Catalogues, GiveAFamilyTheObjectivesThatFitItsTrunkBeforeItsOwn) {
  const Objective objective = labels_objective();
  std::vector<const Objective*> all = objectives();
  all.push_back(&objective);
  const Catalogue catalogue({&gpt2_family()}, all);
  const auto& own = catalogue.models.front().objectives;
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(own[0].functions, &objective);
  EXPECT_EQ(own[1].functions, &document_objective());
  EXPECT_EQ(own[2].functions, &next_token_objective());
}

}  // namespace
}  // namespace zero::model
