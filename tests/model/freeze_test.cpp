// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/model/t5.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/model/recipe.hpp"

namespace zero::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::refusal_of;

using Names = std::vector<std::string>;

Architecture small(const std::string& name) {
  RunConfig config = testing_support::unset_config();
  config.model.name = name;
  return architecture_of(config);
}

graph::Graph training_graph(const Architecture& model, const Names& patterns) {
  Recipe recipe{.model = model};
  if (!patterns.empty()) recipe.alterations = {freezing(patterns)};
  return graph_of(recipe, Purpose::train, {.micro = {.samples = 1, .length = 8}});
}

/// The names of what patterns freeze.
Names frozen(const std::string& name, const Names& patterns) {
  const graph::Graph graph = training_graph(small(name), patterns);
  Names names;
  for (const graph::Parameter& parameter : graph.parameters) {
    if (parameter.frozen) names.push_back(graph[parameter.tensor].name);
  }
  return names;
}

std::string refused(const std::string& name, const Names& patterns) {
  return refusal_of(Exit::kUsage, [&] { training_graph(small(name), patterns); });
}

TEST(Freeze, TakesNamesAsCheckpointsAndFilesOfHuggingFaceShowThem) {
  for (const char* pattern :
       {"wte.weight", "transformer.wte.weight", "wte.*", "model/transformer.wte.weight"}) {
    EXPECT_THAT(frozen("gpt2", {pattern}), ElementsAre("wte.weight")) << pattern;
  }
  EXPECT_THAT(frozen("gpt2", {"w?e.weight"}), ElementsAre("wte.weight", "wpe.weight"));
  EXPECT_THAT(frozen("t5-small", {"shared.weight"}), ElementsAre("shared.weight"));
  EXPECT_THAT(frozen("t5-small", {"encoder.embed_tokens.weight"}), ElementsAre("shared.weight"))
      << "a copy of it";
  EXPECT_EQ(frozen("t5-small", {"encoder.*"}).size(), 1u + 1 + 1 + 6 * 6)
      << "the table by its copy's name, a norm, distances and six of each block";
  EXPECT_THAT(frozen("t5-small", {"lm_head.weight"}), ElementsAre("shared.weight")) << "another";
  EXPECT_EQ(frozen("gpt2", {}).size(), 0u);
}

TEST(Freeze, LeavesTheTableToAnUntiedClassifier) {
  EXPECT_THAT(frozen("t5-v1_1-small", {"lm_head.weight"}), ElementsAre("lm_head.weight"));
  EXPECT_THAT(frozen("t5-v1_1-small", {"shared.weight"}), ElementsAre("shared.weight"));
  EXPECT_THAT(frozen("t5-v1_1-small", {"decoder.embed_*"}), ElementsAre("shared.weight"))
      << "still a copy";
}

TEST(Freeze, TakesAParameterThatHoldsSeveralTensorsWholeOrNotAtAll) {
  const std::string attention = "encoder.block.0.layer.0.SelfAttention.";
  EXPECT_THAT(frozen("t5-small", {attention + "[qkv].weight"}),
              ElementsAre(attention + "qkv.weight"));
  const std::string part = refused("t5-small", {attention + "q.weight"});
  EXPECT_THAT(part, HasSubstr("means a part of " + attention + "qkv.weight"));
  EXPECT_THAT(part, HasSubstr("write \"" + attention + "qkv.weight\""));
}

TEST(Freeze, RefusesWhatMeetsNothingAndWhatLeavesNothing) {
  EXPECT_THAT(refused("t5-small", {"shared.weigth"}),
              HasSubstr("\"shared.weigth\" meets no parameter; did you mean \"shared.weight\"?"));
  EXPECT_THAT(refused("t5-small", {"shared.weight", "tables of all kinds"}),
              HasSubstr("names are such as shared.weight and decoder.block.5."));
  EXPECT_THAT(refused("gpt2", {"*"}), HasSubstr("nothing is trained; leave out"));
  EXPECT_THAT(refused("gpt2", {"*"}), HasSubstr("model.freeze"));
}

}  // namespace
}  // namespace zero::model
