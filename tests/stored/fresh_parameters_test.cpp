// Ranks: 1
#include "src/stored/fresh_parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/models.hpp"

namespace zero::stored {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

TEST(FreshParameters, AreThoseThatTheKeyNamesInTheModelsOrder) {
  const model::Architecture model = testing_support::model_named("gpt2");
  RunConfig training = testing_support::unset_config();
  EXPECT_THAT(fresh_parameters(model, &training), IsEmpty());
  training.model.reinit = {"wpe.*", "wte.weight"};
  EXPECT_THAT(fresh_parameters(model, nullptr), IsEmpty());
  EXPECT_THAT(fresh_parameters(model, &training), ElementsAre("wte.weight", "wpe.weight"));
}

TEST(CountsOfTheTask, AreThoseOfTheTraining) {
  ModelDescription description{.model = testing_support::model_named("deberta-v3-small"),
                               .classes = {"no", "yes"}};
  RunConfig training = testing_support::unset_config();
  EXPECT_FALSE(take_task(training, description)) << "which says nothing";
  training.model.numbers.counts["labels"] = 2;
  EXPECT_FALSE(take_task(training, description));
  EXPECT_THAT(description.classes, ElementsAre("no", "yes"));
  training.model.numbers.counts["labels"] = 3;
  EXPECT_TRUE(take_task(training, description));
  EXPECT_EQ(description.model.numbers.count("labels"), 3);
  EXPECT_THAT(description.classes, IsEmpty());
}

TEST(ReinitAdvice, NamesNoParameterThatIsThere) {
  const Names all = {"wte.weight",  "h.0.ln.weight", "h.0.ln.bias",   "h.1.ln.weight",
                     "h.1.ln.bias", "head.a.weight", "head.b.weight", "bias"};
  const auto advice = [&](const Names& lacking) { return reinit_advice(all, lacking); };
  EXPECT_EQ(advice({"wte.weight"}), "write model.reinit = [\"wte.*\"] to draw it anew");
  EXPECT_EQ(advice({"head.a.weight", "head.b.weight"}),
            "write model.reinit = [\"head.*\"] to draw them anew");
  EXPECT_EQ(advice({"head.b.weight"}), "write model.reinit = [\"head.b.*\"] to draw it anew");
  EXPECT_EQ(advice({"h.1.ln.weight", "h.1.ln.bias", "bias"}),
            "write model.reinit = [\"h.1.*\", \"bias\"] to draw them anew");
  EXPECT_EQ(advice({"h.0.ln.bias"}), "write model.reinit = [\"h.0.ln.bias\"] to draw it anew");
}

TEST(ReinitAdvice, ListsNoMoreThanFivePatterns) {
  Names all;
  for (int i = 0; i < 6; ++i) all.push_back(std::to_string(i) + ".weight");
  EXPECT_EQ(reinit_advice(all, all), "name them in model.reinit to draw them anew");
  EXPECT_EQ(reinit_advice(all, {all.begin(), all.end() - 1}),
            "write model.reinit = [\"0.*\", \"1.*\", \"2.*\", \"3.*\", \"4.*\"] to draw them anew");
}

}  // namespace
}  // namespace zero::stored
