// Ranks: 1

#include "src/stored/model_config_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/decoder_trial.hpp"
#include "tests/support/models.hpp"

namespace zero::stored {
namespace {

using Json = nlohmann::ordered_json;
using testing_support::catalogue;

/// Keys that every file gets, whatever its origin has.
const std::set<std::string> kAdded = {"rope_theta",  "rope_scaling",          "rope_parameters",
                                      "torch_dtype", "rope_local_base_freq",  "dtype",
                                      "zeroapp",     "partial_rotary_factor", "architectures"};

ModelDescription described(const Json& config) {
  return parse_description(catalogue(), config.dump(), "config.json");
}

Json written(const ModelDescription& description) {
  return Json::parse(description_json(description));
}

Json without_added(Json json) {
  for (const std::string& key : kAdded) json.erase(key);
  return json;
}

class ConfigOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rows, ConfigOf, ::testing::ValuesIn(testing_support::kGoldenDecoders),
                         [](const auto& of) { return std::string(of.param); });

/// Returns a config.json of Transformers with harmless keys beside its own.
Json config_with_more(const std::string& name) {
  Json config = Json::parse(testing::load_golden_decoder(name).hub);
  config["_name_or_path"] = "somewhere/else";
  config["use_cache"] = false;
  config["unheard_of"] = nullptr;
  config["task_specific_params"] = {{"text-generation", {{"max_length", 50}}}};
  return config;
}

TEST_P(ConfigOf, IsTheOriginsWithBothSpellings) {
  Json config = config_with_more(GetParam());
  EXPECT_EQ(without_added(written(described(config))), without_added(config));
  const Json once = written(described(config));
  for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "torch_dtype", "dtype"})
    EXPECT_TRUE(once.contains(key)) << key;
  EXPECT_EQ(once["rope_parameters"], config["rope_parameters"]);
  EXPECT_EQ(written(described(once)), once) << "from then on it stays";
}

TEST_P(ConfigOf, GetsNoKeyThatItsOriginLeavesToTheClass) {
  Json config = config_with_more(GetParam());
  for (const char* key : {"attention_dropout", "initializer_range", "tie_word_embeddings"})
    config.erase(key);
  const Json again = written(described(config));
  EXPECT_EQ(without_added(again), without_added(config));
}

TEST(ConfigJson, SaysWhatHasChangedSinceItsOrigin) {
  Json config = config_with_more("llama_c");
  config.erase("attention_dropout");
  ModelDescription description = described(config);
  description.model.numbers.rates["dropout"] = 0.25;
  description.model.numbers.counts["max_positions"] = 512;
  const Json again = written(description);
  config["attention_dropout"] = 0.25;
  config["max_position_embeddings"] = 512;
  EXPECT_EQ(without_added(again), without_added(config));
  description.model.numbers.rates["rope_factor"] = 16;
  const Json other = written(description);
  EXPECT_EQ(other["rope_parameters"]["factor"], 16.0);
  EXPECT_EQ(other["rope_scaling"]["factor"], 16.0);
}

TEST(ConfigJson, OfARunKeepsWhatItsFirstWeightsSaid) {
  const Json config = config_with_more("qwen3_b");
  ModelDescription run = described(config);
  const std::string text = description_json(run);
  run.origin = {};
  EXPECT_FALSE(written(run).contains("unheard_of"));
  run.origin = origin_of(catalogue(), text);
  EXPECT_EQ(description_json(run), text);
  EXPECT_TRUE(origin_of(catalogue(), "").text.empty());
}

TEST(ConfigJson, OfAnotherFamilyIsWrittenAnew) {
  ModelDescription gpt2{
      .model = testing_support::model_named("gpt2"), .compute = Dtype::f32, .sequence_length = 8};
  const std::string text = description_json(gpt2);
  EXPECT_TRUE(origin_of(catalogue(), text).text.empty());
  EXPECT_TRUE(parse_description(catalogue(), text, "config.json").origin.text.empty());
}

}  // namespace
}  // namespace zero::stored
