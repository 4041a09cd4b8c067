// Ranks: 1
#include "zero/model/parameter_patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/model/recipe.hpp"

namespace zero::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::model_named;
using testing_support::refusal_of;

using Names = std::vector<std::string>;

std::vector<std::string> names_matched(const std::string& name, const Names& patterns) {
  const Architecture model = model_named(name);
  const graph::Graph graph = graph_of({model}, Purpose::store);
  const std::vector<bool> found =
      matched(model, graph, {.key = "model.some", .patterns = patterns, .whole = "used"});
  Names names;
  for (size_t p = 0; p < found.size(); ++p) {
    if (found[p]) names.push_back(graph[graph.parameters[p].tensor].name);
  }
  return names;
}

TEST(Patterns, MeanParametersByAnyOfTheirNames) {
  EXPECT_THAT(names_matched("gpt2", {"wpe.*", "transformer.wte.weight"}),
              ElementsAre("wte.weight", "wpe.weight"));
  EXPECT_THAT(names_matched("t5-small", {"lm_head.weight"}), ElementsAre("shared.weight"));
  EXPECT_TRUE(names_matched("gpt2", {}).empty());
}

TEST(Patterns, AreRefusedByTheirKeyWhereTheyMeanNothingOrAPart) {
  const auto refused = [](const std::string& pattern) {
    return refusal_of(Exit::kUsage, [&] { names_matched("t5-small", {pattern}); });
  };
  EXPECT_THAT(refused("shared.weigth"), HasSubstr("model.some: \"shared.weigth\" meets no"));
  EXPECT_THAT(refused("encoder.block.0.layer.0.SelfAttention.q.weight"),
              HasSubstr("SelfAttention.v.weight and is used whole; write "));
}

TEST(Patterns, SayWhereTheyMeanASharedTableByAnotherName) {
  const auto said = [](const std::string& name, const Names& patterns) {
    const Architecture model = model_named(name);
    return shared_names_text(model, patterns, graph_of({model}, Purpose::store));
  };
  EXPECT_EQ(
      said("t5-small", {"lm_head.weight"}),
      "\"lm_head.weight\" means shared.weight, of which lm_head.weight is another name: it is "
      "frozen wherever it is read");
  EXPECT_THAT(said("t5-small", {"encoder.*"}), HasSubstr("\"encoder.*\" means shared.weight"));
  EXPECT_THAT(said("gpt2", {"lm_head.*"}), HasSubstr("means wte.weight"));
  EXPECT_THAT(said("blenderbot-400M-distill", {"model.decoder.embed_tokens.weight"}),
              HasSubstr("means model.shared.weight"));
  for (const Names& patterns : {Names{"shared.weight"}, Names{"*.layer_norm.weight"}, Names{}})
    EXPECT_EQ(said("t5-small", patterns), "");
  EXPECT_EQ(said("t5-v1_1-small", {"lm_head.weight"}), "") << "a parameter of its own";
}

}  // namespace
}  // namespace zero::model
