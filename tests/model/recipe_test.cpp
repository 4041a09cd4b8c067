// Ranks: 1

#include "zero/model/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/graph/operations.hpp"
#include "zero/model/objective.hpp"

namespace zero::model {
namespace {

using ::testing::HasSubstr;
using testing_support::model_named;
using testing_support::refusal_of;

constexpr GraphSizes kSizes{.micro = {.samples = 1, .length = 8, .source_length = 8}};

/// Notes the purposes for which it was applied, and changes nothing.
Alteration noting(std::vector<Purpose>& seen, Purpose purpose) {
  return {.name = "noting",
          .purposes = {purpose},
          .apply = [&seen, purpose](const Architecture&, graph::Graph graph) {
            seen.push_back(purpose);
            return graph;
          }};
}

int64_t count(const graph::Graph& graph, const graph::Operation& kind) {
  return std::ranges::count_if(graph.ops, [&](const graph::Op& op) { return op.kind == &kind; });
}

bool drops(const graph::Graph& graph) {
  return std::ranges::any_of(graph.ops, [](const graph::Op& op) {
    return op.kind == &graph::kDropoutAdd &&
           op.attributes.as<graph::DropoutAttributes>().probability > 0;
  });
}

std::vector<std::string> parameters(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Parameter& parameter : graph.parameters)
    names.push_back(graph[parameter.tensor].name);
  return names;
}

TEST(Recipe, DropsInTrainingAlone) {
  Architecture model = model_named("gpt2");
  model.numbers.rates["dropout"] = 0.25;
  EXPECT_TRUE(drops(graph_of({model}, Purpose::train, kSizes)));
  EXPECT_TRUE(drops(graph_of({model}, Purpose::probe, kSizes)));
  EXPECT_FALSE(drops(graph_of({model}, Purpose::evaluate, kSizes)));
  EXPECT_FALSE(drops(graph_of({model}, Purpose::store)));
}

TEST(Recipe, HasTheSameParametersForEveryPurpose) {
  for (const char* name : {"gpt2", "t5-small", "blenderbot-400M-distill"}) {
    const Recipe recipe{model_named(name)};
    const auto stored = parameters(graph_of(recipe, Purpose::store));
    GraphSizes sizes = kSizes;
    sizes.chunk = {.length = 2, .context = 4, .source_context = 5, .sources = 1};
    for (const Purpose purpose : {Purpose::train, Purpose::evaluate, Purpose::decode})
      EXPECT_EQ(parameters(graph_of(recipe, purpose, sizes)), stored) << name << int(purpose);
  }
}

TEST(Recipe, AppliesAnAlterationForItsPurposesInTheirOrder) {
  std::vector<Purpose> seen;
  Recipe recipe{.model = model_named("gpt2"),
                .alterations = {noting(seen, Purpose::store), noting(seen, Purpose::train)}};
  graph_of(recipe, Purpose::evaluate, kSizes);
  EXPECT_TRUE(seen.empty());
  graph_of(recipe, Purpose::train, kSizes);
  graph_of(recipe, Purpose::store);
  EXPECT_EQ(seen, (std::vector{Purpose::train, Purpose::store}));
}

/// Adds a parameter of 6 elements, which files hold as two tensors.
Alteration adding() {
  return {.name = "adding",
          .purposes = {Purpose::train, Purpose::evaluate, Purpose::decode, Purpose::store},
          .apply =
              [](const Architecture&, graph::Graph graph) {
                graph.tensors.push_back({.name = "more", .shape = {2, 3}});
                graph.parameters.push_back(
                    {.tensor = graph::TensorId(graph.tensors.size()) - 1,
                     .unit = 0,
                     .decays = false,
                     .init = graph::Init::zeros,
                     .real_numel = 6,
                     .stored = {.names = {"more.a", "more.b"}, .widths = {2, 1}}});
                return graph;
              },
          .fact = "one more of 6"};
}

TEST(Recipe, KnowsWhatAnAlterationAdds) {
  const Recipe plain{model_named("gpt2")};
  const Recipe recipe{.model = plain.model, .alterations = {adding()}};
  EXPECT_EQ(parameter_count(plain), 124'439'808);
  EXPECT_EQ(parameter_count(recipe), 124'439'808 + 6);
  EXPECT_EQ(fact(recipe), fact(plain) + ", one more of 6");
  EXPECT_EQ(words(recipe), words(plain) + ", one more of 6");
  const graph::Graph stored = graph_of(recipe, Purpose::store);
  EXPECT_EQ(stored.parameters.back().stored.names, (std::vector<std::string>{"more.a", "more.b"}));
  EXPECT_EQ(stored.parameters.front().stored.names, (std::vector<std::string>{"wte.weight"}))
      << "the family's own form";
}

TEST(Recipe, HasTheAlterationsOfItsCatalogue) {
  static const AlterationKind kWide{[](const RunConfig& config) -> std::optional<Alteration> {
    if (config.run.seed != 7) return {};
    return adding();
  }};
  std::vector<const AlterationKind*> kinds = alteration_kinds();
  kinds.push_back(&kWide);
  const Catalogue catalogue({model_named("gpt2").family}, objectives(), kinds);
  RunConfig config;
  config.model.table = &catalogue.models;
  config.model.name = "gpt2";
  EXPECT_TRUE(recipe_of(config).alterations.empty());
  config.run.seed = 7;
  config.model.freeze = {"wte.*"};
  const Recipe recipe = recipe_of(config);
  ASSERT_EQ(recipe.alterations.size(), 2u);
  EXPECT_EQ(recipe.alterations[0].name, "model.freeze");
  EXPECT_EQ(recipe.alterations[1].name, "adding");
}

TEST(Recipe, SaysRatesOfTheNetworkAndNoOthers) {
  static const Family kTurned = [] {
    Family family = *model_named("gpt2").family;
    family.settings.rates.push_back(
        {.name = "rope_theta", .range = {}, .initial = 10000, .network = true});
    return family;
  }();
  Architecture model = model_named("gpt2");
  model.family = &kTurned;
  const std::string plain = fact({model_named("gpt2")});
  model.numbers.rates["rope_theta"] = 500000;
  EXPECT_EQ(fact({model}), plain + ", rope_theta 500000");
  EXPECT_THAT(words({model}), HasSubstr(", rope_theta 500000"));
  model.numbers.rates["dropout"] = 0.5;
  EXPECT_EQ(fact({model}), plain + ", rope_theta 500000") << "dropout only affects training";
}

TEST(Recipe, FreezesWhereWeightsAreTrainedOrMeasured) {
  const Recipe recipe{.model = model_named("gpt2"), .alterations = {freezing({"wte.*"})}};
  EXPECT_GT(graph::frozen_numel(graph_of(recipe, Purpose::train, kSizes)), 0);
  EXPECT_GT(graph::frozen_numel(graph_of(recipe, Purpose::evaluate, kSizes)), 0);
  EXPECT_EQ(graph::frozen_numel(graph_of(recipe, Purpose::store)), 0);
}

TEST(Recipe, PadsHeadsOfStepsAlone) {
  const Recipe recipe{model_named("gpt2")};
  GraphSizes sizes = kSizes;
  sizes.head_unit = 48;  // heads have 64
  sizes.chunk = {.length = 2, .context = 4};
  EXPECT_EQ(count(graph_of(recipe, Purpose::train, sizes), graph::kResizeHeads), 12 * 3);
  EXPECT_EQ(count(graph_of(recipe, Purpose::evaluate, sizes), graph::kResizeHeads), 12 * 3);
  EXPECT_EQ(count(graph_of(recipe, Purpose::decode, sizes), graph::kResizeHeads), 0);
}

TEST(Recipe, IsRefusedWhereItsNumbersDoNotFit) {
  const std::string error = refusal_of(Exit::kUsage, [] {
    graph_of({model_named("gpt2")}, Purpose::train, {.micro = {.samples = 1, .length = 2000}});
  });
  EXPECT_THAT(error, HasSubstr("2000 tokens, but the model has 1024 positions"));
}

}  // namespace
}  // namespace zero::model
