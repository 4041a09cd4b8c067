// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/commands/generate_command.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::commands {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<const char*>;

GenerationConfig asked(Words words, const GenerationConfig& of_model) {
  words.insert(words.begin(), {"generate", "x"});
  return asked_generation(usage::read_command_line(words), of_model, "runs/x");
}

std::string refusal(const Words& words, const GenerationConfig& of_model,
                    Exit exit = Exit::kUsage) {
  return testing_support::refusal_of(exit, [&] { asked(words, of_model); });
}

struct Case {
  const char* what;
  Words words;
  GenerationConfig of_model, expected;
};

const Case kCases[] = {
    {"nobody says anything", {}, {}, {}},
    {"the model alone",
     {},
     {.max_length = 60, .num_beams = 10, .length_penalty = 0.65},
     {.max_length = 60, .num_beams = 10, .length_penalty = 0.65}},
    {"what is written wins",
     {"--num-beams", "3", "--max-length", "9", "--suppress-tokens", "4,5"},
     {.max_length = 60, .num_beams = 10, .suppress_tokens = std::vector<int64_t>{7}},
     {.max_length = 9, .num_beams = 3, .suppress_tokens = std::vector<int64_t>{4, 5}}},
    {"also where it is a default",
     {"--num-beams", "1", "--no-repeat-ngram-size", "0", "--suppress-tokens", "",
      "--repetition-penalty", "1", "--forced-eos-token-id", ""},
     {.num_beams = 10,
      .repetition_penalty = 1.5,
      .no_repeat_ngram_size = 3,
      .forced_eos_token_id = std::vector<int64_t>{2},
      .suppress_tokens = std::vector<int64_t>{7}},
     {.num_beams = 1,
      .repetition_penalty = 1,
      .no_repeat_ngram_size = 0,
      .forced_eos_token_id = std::vector<int64_t>{},
      .suppress_tokens = std::vector<int64_t>{}}},
    {"one length takes the place of the other",
     {"--tokens", "5", "--min-new-tokens", "2"},
     {.max_length = 60, .min_length = 20},
     {.max_new_tokens = 5, .min_new_tokens = 2}},
    {"a rule of beams acts on the model's",
     {"--length-penalty", "2", "--early-stopping", "never"},
     {.num_beams = 4, .length_penalty = 0.5},
     {.num_beams = 4, .length_penalty = 2, .early_stopping = BeamEnd::never}},
    {"the model draws",
     {},
     {.do_sample = true, .temperature = 0.7, .top_p = 0.9},
     {.do_sample = true, .temperature = 0.7, .top_p = 0.9}},
    {"and a rule of drawing acts on that",
     {"--top-k", "5", "--seed", "3"},
     {.do_sample = true, .temperature = 0.7, .top_k = 20},
     {.do_sample = true, .temperature = 0.7, .top_k = 5}},
    {"temperature 0 does not draw",
     {"--temperature", "0"},
     {.do_sample = true, .temperature = 0.7, .top_k = 20},
     {.do_sample = false, .temperature = 0.7, .top_k = 20}},
    {"a temperature draws, among all tokens",
     {"--temperature", "0.8"},
     {.temperature = 0.7},
     {.do_sample = true, .temperature = 0.8, .top_k = 0}},
    {"or among those of the model",
     {"--temperature", "0.8", "--top-p", "0.5"},
     {.do_sample = true, .top_k = 20, .top_p = 0.9},
     {.do_sample = true, .temperature = 0.8, .top_k = 20, .top_p = 0.5}},
    {"without beams it may draw",
     {"--temperature", "0.8", "--num-beams", "1"},
     {.num_beams = 10},
     {.do_sample = true, .temperature = 0.8, .top_k = 0, .num_beams = 1}},
    {"and with beams where nothing is drawn",
     {"--temperature", "0", "--num-beams", "2"},
     {.do_sample = true},
     {.do_sample = false, .num_beams = 2}},
};

TEST(AskedGeneration, IsWhatIsWrittenAndThenWhatTheModelSays) {
  for (const Case& each : kCases)
    EXPECT_EQ(asked(each.words, each.of_model), each.expected) << each.what;
}

TEST(AskedGeneration, RefusesOptionsAgainstEachOtherOrTheModel) {
  const GenerationConfig beams{.num_beams = 10}, draws{.do_sample = true};
  EXPECT_THAT(refusal({"--num-beams", "2", "--temperature", "1"}, {}), HasSubstr("one of them"));
  EXPECT_THAT(refusal({"--temperature", "1"}, beams),
              HasSubstr("command line: --temperature: beams draw nothing, and the generation of "
                        "runs/x has num_beams = 10; write --num-beams 1 as well"));
  EXPECT_THAT(refusal({"--num-beams", "2"}, draws), HasSubstr("write --temperature 0 as well"));
  EXPECT_THAT(refusal({"--tokens", "2", "--max-length", "3"}, {}), HasSubstr("one of them"));
  EXPECT_THAT(refusal({"--min-length", "2", "--min-new-tokens", "3"}, {}),
              HasSubstr("one of them"));
  EXPECT_EQ(refusal({"--max-length", "5"}, {.min_length = 20}),
            "command line: --max-length: no text ends before 20 tokens, and none has more than 5; "
            "write --min-length 5 or less");
}

TEST(AskedGeneration, RefusesOptionsWithoutEffect) {
  const GenerationConfig beams{.num_beams = 10}, draws{.do_sample = true};
  for (const char* option : {"--top-k", "--top-p", "--seed"}) {
    EXPECT_THAT(refusal({option, "1"}, beams), HasSubstr("write --temperature 0.8")) << option;
    EXPECT_THAT(refusal({option, "1", "--temperature", "0"}, draws), HasSubstr(option));
    EXPECT_EQ(refusal({option, "1"}, draws), "") << option;
  }
  for (const Words& words : {Words{"--length-penalty", "1"}, Words{"--early-stopping", "no"}}) {
    EXPECT_THAT(refusal(words, {}), HasSubstr("write --num-beams 4 as well")) << words[0];
    EXPECT_EQ(refusal(words, beams), "") << words[0];
  }
}

TEST(AskedGeneration, SaysWhereTheModelContradictsItself) {
  const GenerationConfig drawn{.do_sample = true, .num_beams = 2};
  EXPECT_THAT(refusal({}, drawn, Exit::kInput),
              HasSubstr("runs/x: its generation: num_beams and do_sample: beams draw nothing"));
  EXPECT_EQ(refusal({"--temperature", "0"}, drawn), "");
  EXPECT_EQ(refusal({}, {.max_length = 5, .min_length = 6}, Exit::kInput),
            "runs/x: its generation: min_length: no text ends before 6 tokens, and none has more "
            "than 5; write --min-length 5 or less; what is written with --min-length wins");
}

}  // namespace
}  // namespace zero::commands
