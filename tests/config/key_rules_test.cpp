// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/config/field_text.hpp"
#include "src/config/key_assignment.hpp"
#include "src/config/key_conditions.hpp"
#include "src/config/key_contradictions.hpp"
#include "tests/config/field_values.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"

namespace zero {
namespace {

using ::testing::HasSubstr;

/// "key = value" with the first legal value that is neither the default nor nothing.
std::string another_setting(const std::string& key) {
  RunConfig config = testing_support::unset_config();
  for (const Field& field : fields_of(config)) {
    if (field.key != key) continue;
    const TomlValue unset = value_of(field);
    for (const TomlValue& value : legal_of(field)) {
      assign(field, value);
      const TomlValue set = value_of(field);
      if (set != unset && set != TomlValue("")) return key + " = " + to_text(value);
    }
  }
  ADD_FAILURE() << "no other value of " << key;
  return key + " = 0";
}

TEST(Contradictions, EveryRowIsRefusedAtTheLastLineOfItsExample) {
  for (const Rule& rule : rules_for(testing_support::unset_config().model)) {
    const Lines file = complete(rule.example);
    const std::string key = key_of(rule.example.back());
    EXPECT_THAT(rule.keys, ::testing::Contains(key));
    const std::string begin = text("in.toml:", file.size(), ": ", key, ": ");
    EXPECT_TRUE(says(error_of(file), begin)) << begin << "\n" << error_of(file);
    EXPECT_THAT(error_of(file), ::testing::Not(HasSubstr("\n"))) << "one line for one slip";
  }
}

TEST(Conditions, SpikesLetADynamicLossScaleCountSkippedSteps) {
  const Lines counted = {"numerics.max_bad_steps = 3", "fp16.enabled = true"};
  EXPECT_THAT(error_of(complete(counted)), HasSubstr("numerics.max_bad_steps: 3 has no effect"));
  Lines lifted = counted;
  lifted.push_back("numerics.spike_factor = 6.0");
  EXPECT_EQ(error_of(complete(lifted)), "");
}

TEST(Contradictions, EveryRowIsRefusedOnTheCommandLine) {
  for (const Rule& rule : rules_for(testing_support::unset_config().model)) {
    const std::string error = error_of(complete({}), as_overrides(rule.example));
    const std::string key = key_of(rule.example.back());
    EXPECT_TRUE(says(error, "command line: " + key + ": ")) << key << "\n" << error;
  }
}

TEST(Contradictions, EveryRowSaysWhatWouldWork) {
  for (const Rule& rule : rules_for(testing_support::unset_config().model)) {
    EXPECT_THAT(
        error_of(complete(rule.example)),
        ::testing::AnyOf(HasSubstr("write "), HasSubstr("remove "), HasSubstr("did you mean"),
                         HasSubstr("set one"), HasSubstr("swap")));
  }
}

TEST(Contradictions, WhatIsDoneInAnyCaseMayBeSaid) {
  EXPECT_EQ(error_of(complete(
                {"numerics.gradient_dtype = \"fp32\"", "communication_data_type = \"fp32\""})),
            "");
  const std::string bf16 = "communication_data_type = \"bf16\"";
  EXPECT_EQ(error_of(complete({"bf16.enabled = true", bf16})), "");
  EXPECT_EQ(
      error_of(complete({bf16, "fp16.enabled = true"})),
      "in.toml:5: fp16.enabled: gradients travel in fp16 here; write communication_data_type = "
      "\"auto\", or bf16.enabled = true");
}

TEST(Warnings, SayThatFp32OnTheWireIsWhatAutoDoes) {
  const auto warnings = [](const Lines& lines) {
    return read_config(join(complete(lines)), "in.toml").warnings;
  };
  const std::string fp32 = "communication_data_type = \"fp32\"";
  EXPECT_THAT(warnings({fp32}), ::testing::IsEmpty()) << "it is what travels";
  EXPECT_THAT(warnings({"communication_data_type = \"auto\"", "bf16.enabled = true"}),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings({"bf16.enabled = true", fp32}),
              ::testing::ElementsAre(::testing::StartsWith(
                  "in.toml:5: communication_data_type: \"fp32\" is done as \"auto\": ")));
  EXPECT_THAT(warnings({"fp16.enabled = true", fp32}),
              ::testing::ElementsAre(HasSubstr("travel in fp16, as they are")));
}

/// Lines under which its keys do not act.
Lines idle_example(const Condition& condition) {
  if (!condition.example.empty()) return condition.example;
  RunConfig config = testing_support::unset_config();
  for (const Field& field : fields_of(config)) {
    if (field.key != condition.because.front()) continue;
    for (const TomlValue& value : legal_of(field)) {
      const bool acts = std::ranges::find(condition.values, value) != condition.values.end();
      if (!acts) return {field.key + " = " + to_text(value)};
    }
  }
  ADD_FAILURE() << condition.because.front() << " always lets " << condition.keys.front() << " act";
  return {};
}

TEST(Conditions, EveryIdleKeyIsRefusedBesideTheKeyThatDisablesIt) {
  for (const Condition& condition : conditions(testing_support::unset_config().model.table)) {
    for (const std::string& key : condition.keys) {
      Lines lines = idle_example(condition);
      lines.push_back(another_setting(key));
      const Lines file = complete(lines);
      const std::string begin = text("in.toml:", file.size(), ": ", key, ": ");
      EXPECT_TRUE(says(error_of(file), begin)) << begin << "\n" << error_of(file);
      EXPECT_THAT(error_of(file), HasSubstr("has no effect: it acts only with ")) << key;
      EXPECT_TRUE(says(error_of(complete({}), as_overrides(lines)), "command line: " + key + ": "))
          << key;
    }
  }
}

TEST(Conditions, ATokenizerReadsFilesAlone) {
  EXPECT_EQ(error_of(complete({"data.train = \"synthetic\"", "data.tokenizer = \"bpe\""})),
            "in.toml:4: data.tokenizer: \"bpe\" has no effect: it acts only with a file as "
            "data.train; remove it or write that");
  EXPECT_EQ(error_of(complete({"data.tokenizer = \"bpe\""})), "");
}

TEST(Conditions, AKeyOfPairsNamesTheFamiliesThatLearnFromThem) {
  EXPECT_THAT(error_of(complete({"data.source_prefix = \"say: \""})),
              HasSubstr("a model.name or model.family that learns from pairs of texts (\"t5\", "
                        "\"blenderbot\"), and data.noise_density = 0"));
}

TEST(Conditions, OtherDataAreAllowedToAResumeAlone) {
  EXPECT_THAT(error_of(complete({"checkpoint.resume = \"never\"", "data.changed = true"})),
              HasSubstr("in.toml:5: data.changed: true has no effect: it acts only with "));
  EXPECT_EQ(error_of(complete({"checkpoint.resume = \"require\"", "data.changed = true"})), "");
}

TEST(Conditions, EveryIdleKeyIsAWarningAwayFromTheKeyThatDisablesIt) {
  for (const Condition& condition : conditions(testing_support::unset_config().model.table)) {
    for (const std::string& key : condition.keys) {
      const std::string file = join(complete({another_setting(key)}));
      const ConfigInput input = read_config(file, "in.toml", as_overrides(idle_example(condition)));
      ASSERT_EQ(input.warnings.size(), 1u) << key;
      EXPECT_THAT(input.warnings[0], HasSubstr(text("in.toml:4: ", key, ": "))) << key;
      EXPECT_THAT(input.warnings[0], HasSubstr(condition.because.back())) << key;
      EXPECT_THAT(input.warnings[0], HasSubstr("command line")) << key;
    }
  }
}

TEST(Conditions, AnIdleKeyGoesBackToItsDefault) {
  const std::string file =
      join(complete({"zero.stage = 3", "zero.stage3_max_live_parameters = 5"}));
  const ConfigInput input = read_config(file, "in.toml", Lines{"zero.stage=1"});
  EXPECT_EQ(input.config.zero.stage3_max_live_parameters, ZeroConfig().stage3_max_live_parameters);
  EXPECT_EQ(input.origins.at("zero.stage3_max_live_parameters"),
            "default, for in.toml:5 has no effect");
}

TEST(Conditions, AnIdleKeyThatARunHasWrittenKeepsItsDefault) {
  const std::string file =
      join(complete({"zero.stage = 1", "zero.stage3_max_live_parameters = 5"}));
  const ConfigInput input = read_config(file, "effective.toml", {}, Writer::run);
  EXPECT_EQ(input.config.zero.stage3_max_live_parameters, ZeroConfig().stage3_max_live_parameters);
  EXPECT_TRUE(input.warnings.empty());
  const Lines own = {"zero.stage3_max_live_parameters=6"};
  EXPECT_EQ(read_config(file, "effective.toml", own, Writer::run).warnings.size(), 1u)
      << "a user's words have to act";
}

TEST(Conditions, AnIdleKeyAtItsDefaultIsFine) {
  EXPECT_EQ(error_of(complete({"zero.stage = 0", "zero.stage3_max_live_parameters = 1e9"})), "");
}

TEST(Warmup, LongerThanTheScheduleIsOneWarningThatNamesTheRateReached) {
  const std::string file = join(complete(
      {"optimizer.lr = 0.5", "scheduler.type = \"WarmupLR\"", "scheduler.warmup_num_steps = 20"}));
  const ConfigInput input = read_config(file, "in.toml");
  ASSERT_EQ(input.warnings.size(), 1u);
  EXPECT_EQ(
      input.warnings[0],
      "in.toml:6: scheduler.warmup_num_steps: the warm-up of 20 steps does not end within the "
      "schedule of 10 steps: the learning rate reaches 0.2 and no more");
}

TEST(CheckRules, WarnsWhereReproducibleBytesWouldFollowTheRanks) {
  const auto warnings = [](Lines more) {
    more.push_back("numerics.reproducible = true");
    return read_config(join(complete(more)), "in.toml").warnings;
  };
  EXPECT_THAT(warnings({"train_batch_size = 8"}),
              ::testing::ElementsAre(HasSubstr("train_micro_batch_size_per_gpu: is derived from "
                                               "train_batch_size and the number of ranks")));
  EXPECT_EQ(warnings({"train_batch_size = 8", "gradient_accumulation_steps = 2"}).size(), 1u);
  EXPECT_EQ(warnings({"train_micro_batch_size_per_gpu = \"max\""}).size(), 1u);
  EXPECT_THAT(warnings({"train_batch_size = 8", "train_micro_batch_size_per_gpu = 2"}),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings({"train_micro_batch_size_per_gpu = 2"}), ::testing::IsEmpty());
  EXPECT_THAT(read_config(join(complete({"train_batch_size = 8"})), "in.toml").warnings,
              ::testing::IsEmpty());
}

TEST(Warmup, OfAStableRateHasToEndBeforeTheDecay) {
  const Lines file = {"optimizer.lr = 0.5", "scheduler.type = \"WSD\"",
                      "scheduler.warmup_num_steps = 8", "scheduler.wsd_decay_steps = 2"};
  const ConfigInput input = read_config(join(complete(file)), "in.toml");
  ASSERT_EQ(input.warnings.size(), 1u);
  EXPECT_THAT(input.warnings[0], HasSubstr("does not end within the 8 steps before the decay: the "
                                           "learning rate stays below 0.5"));
  Lines shorter = file;
  shorter[2] = "scheduler.warmup_num_steps = 7";
  EXPECT_TRUE(read_config(join(complete(shorter)), "in.toml").warnings.empty());
}

}  // namespace
}  // namespace zero
