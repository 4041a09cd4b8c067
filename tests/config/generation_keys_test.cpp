// Ranks: 1
#include "zero/config/generation_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

GenerationConfig generation_of(const Lines& lines) {
  return read_config(join(complete(lines)), "in.toml").config.generation;
}

TEST(Generation, KeepsWhatIsWrittenAndNothingElse) {
  const GenerationConfig config =
      generation_of({"generation.num_beams = 4", "generation.early_stopping = \"never\"",
                     "generation.suppress_tokens = [3, 5]", "generation.eos_token_id = 1"});
  EXPECT_EQ(config.num_beams, 4);
  EXPECT_EQ(config.early_stopping, BeamEnd::never);
  EXPECT_EQ(config.suppress_tokens, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(config.eos_token_id, (std::vector<int64_t>{1}));
  EXPECT_FALSE(config.max_length || config.do_sample || config.temperature);
  EXPECT_EQ(generation_of({"generation.num_beams = \"auto\""}), GenerationConfig());
}

TEST(Generation, RefusesBeamsThatDrawAndTwoLengths) {
  EXPECT_THAT(error_of(complete({"generation.num_beams = 4", "generation.do_sample = true"})),
              HasSubstr("in.toml:5: generation.do_sample: beams follow the likeliest texts"));
  EXPECT_THAT(error_of(complete({"generation.max_length = 9", "generation.max_new_tokens = 8"})),
              HasSubstr("remove one of them"));
  EXPECT_THAT(
      error_of(complete({"generation.max_new_tokens = 8", "generation.min_new_tokens = 9"})),
      HasSubstr("write min_new_tokens = 8 or less"));
}

TEST(Generation, NamesTheNearestOfAnUnknownKey) {
  EXPECT_THAT(error_of(complete({"generation.num_beam = 4"})),
              HasSubstr("did you mean generation.num_beams?"));
}

TEST(Generation, AKeyUnderASwitchActsWhereAModelsFileMayTurnItOn) {
  EXPECT_THAT(error_of(complete({"generation.top_p = 0.9"})),
              HasSubstr("acts only with generation.do_sample = true"));
  EXPECT_EQ(error_of(complete({"generation.top_p = 0.9", "generation.do_sample = true"})), "");
  EXPECT_EQ(error_of(complete({"generation.top_p = 0.9", "model.init_from = \"there\""})), "");
}

TEST(Generation, TheRuleOfTheSourceIsOneOfPromptsToo) {
  const Lines lines = {"generation.encoder_no_repeat_ngram_size = 3"};
  EXPECT_EQ(error_of(complete(lines)), "");
}

TEST(BestMetric, OfTextsWantsAModelThatWritesThem) {
  Lines lines = {"data.validation_fraction = 0.5", "evaluation.interval = 10",
                 "checkpoint.interval = 10", "checkpoint.best_metric = \"bleu\""};
  const char* advice = "evaluation.generate = true for such a model";
  EXPECT_THAT(error_of(complete(lines)), HasSubstr(advice));
  lines.push_back("evaluation.generate = true");
  EXPECT_THAT(error_of(complete(lines)), HasSubstr(advice)) << "a GPT-2 answers nothing";
  lines.push_back("model.name = \"t5-small\"");
  lines.push_back("data.sequence_length = 8");
  EXPECT_EQ(error_of(complete(lines)), "");
}

TEST(AssignGeneration, TakesAndRefusesAsAnInputFileDoes) {
  GenerationConfig config;
  EXPECT_EQ(assign_generation(config, "length_penalty", int64_t(2)), "");
  EXPECT_EQ(config.length_penalty, 2.0);
  EXPECT_THAT(assign_generation(config, "num_beams", "4").value(), HasSubstr("without quotes"));
  EXPECT_THAT(assign_generation(config, "forced_eos_token_id", TomlArray{"a"}).value(),
              HasSubstr("a list of token ids"));
  EXPECT_EQ(assign_generation(config, "num_return_sequences", int64_t(2)), std::nullopt);
}

TEST(GenerationValues, AreThoseThatAreSaidAndReadBack) {
  GenerationConfig config{.max_length = 20, .early_stopping = BeamEnd::yes};
  const auto values = generation_values(config);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0], (std::pair<std::string, TomlValue>("max_length", int64_t(20))));
  EXPECT_EQ(values[1], (std::pair<std::string, TomlValue>("early_stopping", true)));
  const std::string text = "[generation]\nmax_length = 20\nearly_stopping = true\n";
  EXPECT_EQ(generation_in("[run]\nsteps = 3\n" + text), config);
}

TEST(Completed, TakesWhatIsOpenAndKeepsOneLengthAlone) {
  const GenerationConfig file{.max_length = 300, .min_length = 5, .num_beams = 4};
  const GenerationConfig all = completed({.max_new_tokens = 8, .num_beams = 1}, file);
  EXPECT_EQ(all, (GenerationConfig{.max_new_tokens = 8, .min_length = 5, .num_beams = 1}));
  EXPECT_EQ(completed({}, file), file);
}

TEST(RequireGeneration, RefusesWhatTheModelsFileMakesIdleOrContradicts) {
  const GenerationConfig beams{.num_beams = 4};
  EXPECT_NO_THROW(require_generation({.length_penalty = 2}, beams));
  EXPECT_THROW(require_generation({.length_penalty = 2}, {}), SettingsError);
  EXPECT_THROW(require_generation({.do_sample = true}, beams), SettingsError);
  EXPECT_NO_THROW(require_generation({}, {.temperature = 0.5})) << "a file's own idle key is fine";
}

}  // namespace
}  // namespace zero
