// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "zero/config/read_config.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

using testing::HasSubstr;
using testing_support::refusal_of;

model::Architecture model_named(const std::string& name) {
  const std::string input = "model.name = \"" + name +
                            "\"\ndata.train = \"t\"\ndata.sequence_length = 64\nrun.steps = 1\n";
  return model::architecture_of(read_config(input, "in.toml").config);
}

GenerationConfig parsed(const std::string& content, const std::string& name = "t5-small") {
  return parse_generation(model_named(name), content, "generation_config.json");
}

TEST(ParseGeneration, TakesTheHubsFileAndPassesOverWhatChangesNoText) {
  const GenerationConfig config = parsed(R"({
    "_from_model_config": true, "decoder_start_token_id": 0, "eos_token_id": [1, 3],
    "pad_token_id": 0, "transformers_version": "5.23.0", "num_beams": 4, "early_stopping": true,
    "max_length": 300, "temperature": null, "length_penalty": 0.5 })");
  EXPECT_EQ(config, (GenerationConfig{.max_length = 300,
                                      .num_beams = 4,
                                      .length_penalty = 0.5,
                                      .early_stopping = BeamEnd::yes,
                                      .eos_token_id = std::vector<int64_t>{1, 3}}));
  EXPECT_EQ(parsed(""), GenerationConfig());
  EXPECT_EQ(parsed(R"({"max_length": 20, "max_new_tokens": 5})"),
            GenerationConfig{.max_new_tokens = 5});
}

TEST(ParseGeneration, NamesInOneWarningWhatItDoesNotKnow) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"penalty_alpha": 0.6, "num_beams": 2, "bad_words_ids": [[1], [2, 3]],
    "output_scores": false})"),
            GenerationConfig{.num_beams = 2});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "zeroapp: warning: generation_config.json: nothing here goes by bad_words_ids, "
            "penalty_alpha; texts are generated without them\n");
}

TEST(ParseGeneration, PassesOverAValueThatNothingIsGeneratedBy) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"num_beams": 2, "temperature": 0.0, "top_p": 1.5})"),
            GenerationConfig{.num_beams = 2});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("generation_config.json: temperature: 0.0 is out of range"));
  EXPECT_THAT(said, HasSubstr("generation_config.json: top_p: 1.5 is out of range"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(parsed(R"({"num_beams": "four"})"), GenerationConfig());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("num_beams: \"four\" is a string"));
}

TEST(ParseGeneration, RefusesIdsOfAnotherModelAndTextThatIsNoJson) {
  const auto refusal = [](const std::string& content) {
    return refusal_of(Exit::kInput, [&] { parsed(content); });
  };
  EXPECT_THAT(refusal(R"({"decoder_start_token_id": 2})"),
              HasSubstr("generation_config.json: decoder_start_token_id: is 2, but a T5 has 0"));
  EXPECT_THAT(refusal(R"({"top_p": 0.5,})"), HasSubstr("byte "));
  EXPECT_EQ(parsed(R"({"pad_token_id": 7})", "gpt2"), GenerationConfig()) << "it says none";
}

TEST(GenerationJson, HoldsTheFamilysIdsAndWhatIsSaidAndComesBack) {
  ModelDescription description{.model = model_named("t5-small")};
  description.generation = {.num_beams = 4,
                            .early_stopping = BeamEnd::never,
                            .suppress_tokens = std::vector<int64_t>{5, 6}};
  const std::string text = generation_json(description);
  EXPECT_EQ(text,
            "{\n  \"decoder_start_token_id\": 0,\n  \"pad_token_id\": 0,\n  \"eos_token_id\": 1,\n"
            "  \"num_beams\": 4,\n  \"early_stopping\": \"never\",\n  \"suppress_tokens\": [\n"
            "    5,\n    6\n  ]\n}\n");
  GenerationConfig expected = description.generation;
  expected.eos_token_id = std::vector<int64_t>{1};
  EXPECT_EQ(parsed(text), expected);
  description.generation.eos_token_id = std::vector<int64_t>{9};
  EXPECT_THAT(generation_json(description), HasSubstr("\"eos_token_id\": 9"));
}

TEST(GenerationJson, OfADecoderThatNothingIsSaidOfIsNoFile) {
  EXPECT_EQ(generation_json({.model = model_named("gpt2")}), "");
}

}  // namespace
}  // namespace zero::models
