// Ranks: 1
#include "src/config/import/translation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const StartReader kStart = [](const RunConfig& config) {
  EXPECT_EQ(config.model.init_from, "there");
  return std::optional<StartNumbers>({.place = "there",
                                      .family = "gpt2",
                                      .numbers = {.counts = {{"layers", 2},
                                                             {"width", 64},
                                                             {"heads", 2},
                                                             {"vocab_size", 256},
                                                             {"max_positions", 1024}}},
                                      .mixed_rates = ""});
};

/// What is made of "auto" where a training begins with a model.
DeepSpeedImport translated(const StartReader& start) {
  const std::vector<std::string> given = {"model.init_from=there"};
  Translation translation(testing_support::catalogue().models, {.hf_defaults = true});
  translation.give(given);
  translation.begin_with(start);
  const char* json = R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})";
  translation.translate(read_json(json, "ds.json"), deepspeed_rules(), true);
  translation.complete(Translation::Framework::deepspeed);
  return translation.take();
}

TEST(Translation, TakesTheNumbersOfTheModelThatATrainingBeginsWith) {
  const DeepSpeedImport made = translated(kStart);
  EXPECT_THAT(made.refused, IsEmpty());
  EXPECT_EQ(std::ranges::count(made.needs, "model.name=..."), 0);
  EXPECT_THAT(made.toml, HasSubstr("init_from = \"there\""));
  EXPECT_THAT(made.toml, HasSubstr("reduce_bucket_size = 4096")) << "width^2";
  EXPECT_EQ(made.toml.find("\nlayers"), made.toml.npos) << "the folder says it";
}

TEST(Translation, AsksForNoNumbersOfAModelThatIsNotThereYet) {
  const DeepSpeedImport made = translated([](const RunConfig&) { return std::nullopt; });
  EXPECT_EQ(std::ranges::count(made.needs, "model.name=..."), 0);
}

}  // namespace
}  // namespace zero
