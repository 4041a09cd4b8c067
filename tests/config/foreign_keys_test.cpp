// Ranks: 1

#include "src/config/foreign_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "src/config/import/rules.hpp"
#include "tests/config/settings.hpp"
#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/config/import_deepspeed.hpp"

namespace zero {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Calls check(key, row) with every key of the table.
template <class Check>
int for_each_key(Check check) {
  int count = 0;
  for (const DeepSpeedKeys& keys : deepspeed_keys()) {
    std::istringstream names{std::string(keys.names)};
    for (std::string name; names >> name; ++count) {
      if (name == "*") name = "whatever";
      check((keys.section.empty() ? "" : std::string(keys.section) + ".") + name, keys);
    }
  }
  return count;
}

bool is_key_here(const std::string& name) {
  RunConfig config = testing_support::unset_config();
  for (const Field& field : fields_of(config)) {
    if (field.key == name) return true;
  }
  return false;
}

TEST(DeepSpeedKeys, HaveAStandingAndASentence) {
  const int keys = for_each_key([](const std::string& key, const DeepSpeedKeys& row) {
    EXPECT_EQ(find_deepspeed_key(key), &row) << key;
    EXPECT_THAT(row.standing, AnyOf(Standing::hint, Standing::refused)) << key;
    EXPECT_GE(row.why.size(), 10u) << key;
    if (row.standing == Standing::hint) return;
    EXPECT_THAT(std::string(row.why), AnyOf(HasSubstr("write "), HasSubstr("remove it"))) << key;
  });
  EXPECT_GE(keys, 200);
}

TEST(DeepSpeedKeys, AreNeverCalledUnknownWhereTheyAreImported) {
  for_each_key([](const std::string& key, const DeepSpeedKeys& row) {
    if (is_key_here(same_key(key))) return;
    std::string json = "2";
    for (std::string rest = key; !rest.empty();) {
      const size_t dot = rest.rfind('.');
      json = "{\"" + rest.substr(dot == rest.npos ? 0 : dot + 1) + "\": " + json + "}";
      rest = dot == rest.npos ? "" : rest.substr(0, dot);
    }
    const testing_support::TempFile file("ds.json", json);
    const DeepSpeedImport import = import_deepspeed(file.path(), {});
    std::string said;
    for (const auto& lines : {import.refused, import.report}) {
      for (const std::string& line : lines) said += line + "\n";
    }
    EXPECT_THAT(said, Not(HasSubstr("no such key"))) << key;
    EXPECT_THAT(said, HasSubstr(std::string(row.why))) << key;
    EXPECT_EQ(import.refused.empty(), row.standing == Standing::hint) << key << "\n" << said;
  });
}

TEST(DeepSpeedKeys, AreNamedWhereOneWasMisspelt) {
  const testing_support::TempFile file("ds.json", R"({"log_levle": 1})");
  EXPECT_THAT(import_deepspeed(file.path(), {}).refused,
              ::testing::ElementsAre(HasSubstr("no such key; did you mean log_level?")));
}

TEST(DeepSpeedKeys, AreNeverCalledUnknownInAnInputFile) {
  const auto said_of = [](const std::string& key) { return error_of(complete({key + " = 1"})); };
  for_each_key([&](const std::string& key, const DeepSpeedKeys& row) {
    if (is_key_here(same_key(key)) || !hint_section(key).empty()) return;
    EXPECT_THAT(said_of(key), HasSubstr(std::string(row.why))) << key;
  });
  EXPECT_THAT(said_of("zero.zenflow.offload"), HasSubstr("every gradient is applied in its own"));
  EXPECT_THAT(said_of("optimizer.freeze_step"), HasSubstr("compress gradients"));
  EXPECT_THAT(said_of("zero.max_live_parameters"),
              HasSubstr("write zero.stage3_max_live_parameters"));
  EXPECT_THAT(said_of("checkpoint.intervall"), HasSubstr("did you mean checkpoint.interval?"));
}

TEST(DeepSpeedKeys, OfEveryOtherNameAreNone) {
  EXPECT_EQ(find_deepspeed_key("zero_optimization.stage"), nullptr);
  EXPECT_EQ(find_deepspeed_key("amplitude"), nullptr);
  EXPECT_EQ(find_deepspeed_key("optimizer.params.frieze_step"), nullptr);
  EXPECT_EQ(deepspeed_advice("model.layers"), "");
}

TEST(HintSection, IsReadByNobodyAndToldOfOnce) {
  const ConfigInput input = read_config(join(complete({})) +
                                            "[comms_config]\nverbose = true\ndebug = 3\n"
                                            "[monitor_config.wandb]\nenabled = false\n",
                                        "in.toml");
  ASSERT_EQ(input.warnings.size(), 2u);
  EXPECT_THAT(input.warnings[0], HasSubstr("in.toml:4: comms_config: is a hint: MPI carries"));
  EXPECT_THAT(input.warnings[1], HasSubstr("monitor_config: is a hint: [tensorboard] and"));
  EXPECT_EQ(hint_section("comms_configs.verbose"), "");
  const std::vector<std::string> typed = {"comms_config.verbose=true"};
  EXPECT_EQ(read_config(join(complete({})), "in.toml", typed).warnings.size(), 1u);
}

std::string said_of(const std::string& line) { return error_of(complete({line})); }

TEST(Habits, FindDeepSpeedsSectionsUnderTheirNamesHere) {
  EXPECT_THAT(said_of("zero_optimization.reduce_bucket_size = 2e8"),
              HasSubstr("did you mean zero.reduce_bucket_size?"));
  EXPECT_THAT(said_of("optimizer.params.lr = 0.1"), HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(said_of("scheduler.params.warmup_num_steps = 1"),
              HasSubstr("did you mean scheduler.warmup_num_steps?"));
  EXPECT_EQ(key_here("zero_optimization"), "zero");
  EXPECT_EQ(key_here("zero_optimizations.stage"), "zero_optimizations.stage");
}

TEST(Habits, SayWhatDoesTheWorkHere) {
  EXPECT_EQ(said_of("per_device_train_batch_size = 8"),
            "in.toml:4: per_device_train_batch_size: no such key; write "
            "train_micro_batch_size_per_gpu");
  EXPECT_THAT(said_of("model.n_embd = 8"), HasSubstr("write model.width"));
  EXPECT_THAT(said_of("batch_size = 8"), HasSubstr("write train_batch_size"));
  EXPECT_THAT(said_of("aio.thread_count = 2"), HasSubstr("aio.intra_op_parallelism"));
  EXPECT_THAT(
      said_of("[wandb]\nenabled = true\nproject = \"x\""),
      ::testing::MatchesRegex("in.toml:4: wandb: a key of DeepSpeed without a twin here: [^\n]*"));
  EXPECT_EQ(habit_advice("max_stepsize"), "");
  EXPECT_NE(habit_advice("max_steps"), "");
}

TEST(Habits, TellASectionFromAKey) {
  EXPECT_THAT(said_of("zero = 3"), HasSubstr("is a section; write [zero] and its keys below"));
  EXPECT_THAT(said_of("[zero.stage]"), HasSubstr("is a key, not a section"));
  EXPECT_EQ(said_of("[zreo]"), "in.toml:4: zreo: no such section; did you mean zero?");
  EXPECT_THAT(said_of("[quux]"), HasSubstr("inputs/reference.toml lists every section"));
}

TEST(Habits, AnUnknownSectionIsOneLineWhateverItHolds) {
  EXPECT_EQ(said_of("[optimzer]\nlr = 1\nbetas = 3\ntype = \"Adam\""),
            "in.toml:4: optimzer: no such section; did you mean optimizer?");
}

}  // namespace
}  // namespace zero
