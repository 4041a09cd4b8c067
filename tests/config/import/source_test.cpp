// Ranks: 1

#include "src/config/import/source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/damaged_text.hpp"
#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

namespace of_json {

using ::testing::HasSubstr;

TomlValue only_value(std::string_view text) {
  const Source source = read_json(text, "x.json");
  EXPECT_EQ(source.size(), 1u);
  return source.size() == 1 ? source[0].value.value_or("null") : TomlValue("none");
}

std::string problem(std::string_view text) {
  try {
    read_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no problem";
}

TEST(Json, ReadsEveryKindOfValue) {
  EXPECT_EQ(only_value(R"({"a": true})"), TomlValue(true));
  EXPECT_EQ(only_value(R"({"a": -7})"), TomlValue(int64_t(-7)));
  EXPECT_EQ(only_value(R"({"a": 2e8})"), TomlValue(2e8));
  EXPECT_EQ(only_value(R"({"a": "x # y"})"), TomlValue(std::string("x # y")));
  EXPECT_EQ(only_value(R"({"a": [0.9, 1,]})"), TomlValue(TomlArray{0.9, int64_t(1)}));
  EXPECT_FALSE(read_json(R"({"a": null})", "x")[0].value.has_value());
  EXPECT_TRUE(read_json(R"({"a": {}, "b": []})", "x").empty());
}

TEST(Json, ReadsEscapesAndPairsOfHalfCharacters) {
  EXPECT_EQ(only_value(R"({"a": "\t\"\\\/\u00e9\uD83D\uDE00"})"),
            TomlValue(std::string("\t\"\\/\u00e9\U0001F600")));
  EXPECT_THAT(problem(R"({"a": "\uD83D"})"), HasSubstr("no character"));
  EXPECT_THAT(problem(R"({"a": "\uD83D\u0041"})"), HasSubstr("half a character"));
}

TEST(Json, JoinsObjectsAndKeepsLines) {
  const Source source = read_json("{\n \"a\": {\n  \"b\": 1,\n \"c\": {\"d\": 2}}\n}", "x.json");
  ASSERT_EQ(source.size(), 2u);
  EXPECT_EQ(source[0].key, "a.b");
  EXPECT_EQ(source[0].place, "x.json:3");
  EXPECT_EQ(source[1].key, "a.c.d");
  EXPECT_EQ(source[1].place, "x.json:4");
}

TEST(Json, ReadsCommentsOfEveryKindAndTrailingCommas) {
  const Source source =
      read_json("// head\n{ # one\n /* two\n lines */ \"a\" /**/ : 1 /* x */, // y\n} // end", "x");
  ASSERT_EQ(source.size(), 1u);
  EXPECT_EQ(source[0].place, "x:4");
  EXPECT_THAT(problem("{\n/* open"), HasSubstr("x.json:2: the /* of line 2 has no */"));
}

TEST(Json, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(problem("[1]"), HasSubstr("x.json:1: the file is no { object }"));
  EXPECT_THAT(problem("{\n\"a\": 1\n\"b\": 2}"), HasSubstr("x.json:3: wants , or } before '\"'"));
  EXPECT_THAT(problem("{\"a\": 1"), HasSubstr("before the end of the file"));
  EXPECT_THAT(problem("{\"a\": True}"), HasSubstr("True is Python; write true"));
  EXPECT_THAT(problem("{a: 1}"), HasSubstr("double quotes"));
  EXPECT_THAT(problem("{\"a\": 1_000}"), HasSubstr("1_000 is no number of JSON"));
  EXPECT_THAT(problem("{\"a\": NaN}"), HasSubstr("NaN"));
  EXPECT_THAT(problem("{} x"), HasSubstr("unexpected 'x' behind the last }"));
  EXPECT_THAT(problem("{\"a.b\": 1}"), HasSubstr("a key is made of"));
}

TEST(Json, TakesAListThatHoldsMoreThanPlainValuesAsOneText) {
  for (const char* json : {"{\"a\": [[1], 2]}", "{\"a\": [1, {\"b\": null, \"c\": [{}, \"x\"]},],}",
                           "{\"a\": [[]]}"}) {
    EXPECT_EQ(only_value(json), TomlValue("[...]")) << json;
  }
  EXPECT_THAT(problem("{\"a\": [{\"b\" 1}]}"), HasSubstr("x.json:1: a key wants : and a value"));
  EXPECT_THAT(problem("{\"a\": [{b: 1}]}"), HasSubstr("double quotes"));
  EXPECT_THAT(problem("{\"a\": [[1"), HasSubstr("before the end of the file"));
  EXPECT_THAT(problem("{\"a\": " + std::string(20, '[') + "1"), HasSubstr("in each other"));
}

TEST(Json, RefusesDuplicatesAndNamesTheFirst) {
  EXPECT_THAT(problem("{\"a\": 1,\n\"a\": 2}"),
              HasSubstr("x.json:2: a stands twice, first in line 1"));
  EXPECT_THAT(problem("{\"a\": {\"b\": 1}, \"a\": {\"c\": 2}}"), HasSubstr("a stands twice"));
}

TEST(Json, HasLimits) {
  std::string deep, many = "{";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  for (int i = 0; i < 3000; ++i) many += "\"k" + std::to_string(i) + "\": 1,\n";
  EXPECT_THAT(problem(deep), HasSubstr("more than 8 objects"));
  EXPECT_THAT(problem(many + "}"), HasSubstr("more than 2000 keys"));
  EXPECT_THAT(problem("{\"" + std::string(300, 'a') + "\": 1}"), HasSubstr("at most 200"));
  EXPECT_THAT(problem(std::string(2'000'000, ' ')), HasSubstr("at most 1048576"));
  EXPECT_THAT(problem(std::string("{\0}", 3)), HasSubstr("byte 0"));
}

TEST(Json, EndsWithAnErrorOrAnObjectOnAnyBytes) {
  const std::string seed = R"({"a": {"b": [1, 2e8, "x\u00e9"], "c": null}, /* d */ "e": true,})";
  testing_support::read_damaged(seed, problem);
}

}  // namespace of_json

namespace of_yaml {

using ::testing::HasSubstr;

std::string problem(std::string_view text) {
  try {
    read_yaml(text, "x.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no problem";
}

TomlValue only_value(const std::string& text) {
  const Source source = read_yaml("a: " + text, "x.yaml");
  EXPECT_EQ(source.size(), 1u);
  return source.size() == 1 ? source[0].value.value_or("null") : TomlValue("none");
}

TEST(Yaml, ReadsPlainValuesAsPyYamlDoes) {
  EXPECT_EQ(only_value("true"), TomlValue(true));
  EXPECT_EQ(only_value("no"), TomlValue(false));
  EXPECT_EQ(only_value("'no'"), TomlValue(std::string("no")));
  EXPECT_EQ(only_value("nO"), TomlValue(std::string("nO")));
  EXPECT_EQ(only_value("12"), TomlValue(int64_t(12)));
  EXPECT_EQ(only_value("1.5"), TomlValue(1.5));
  EXPECT_EQ(only_value("10.0.0.1"), TomlValue(std::string("10.0.0.1")));
  EXPECT_EQ(only_value("a/b c#d # e"), TomlValue(std::string("a/b c#d")));
  EXPECT_EQ(only_value("'it''s' # x"), TomlValue(std::string("it's")));
  EXPECT_EQ(only_value("\"a\\tb\""), TomlValue(std::string("a\tb")));
  EXPECT_EQ(only_value("null"), TomlValue(std::string("null")));
  EXPECT_EQ(only_value("~"), TomlValue(std::string("null")));
  EXPECT_EQ(only_value(""), TomlValue(std::string("null")));
  EXPECT_TRUE(read_yaml("a: {}\nb: []\n", "x").empty());
}

TEST(Yaml, JoinsObjectsByIndentationAndKeepsLines) {
  const Source source =
      read_yaml("---\n# head\na:\n  b: 1\n\n  c:\n    d: 2\ne: 3\nf:\ng: 4\r\n", "x.yaml");
  ASSERT_EQ(source.size(), 5u);
  EXPECT_EQ(source[0].key, "a.b");
  EXPECT_EQ(source[0].place, "x.yaml:4");
  EXPECT_EQ(source[1].key, "a.c.d");
  EXPECT_EQ(source[2].key, "e");
  EXPECT_EQ(source[3].key, "f");
  EXPECT_FALSE(source[3].value.has_value());
  EXPECT_EQ(source[4].value, TomlValue(int64_t(4)));
}

TEST(Yaml, NamesTheLineOfWhatItCannotRead) {
  EXPECT_THAT(problem("a: 1\n  b: 2"), HasSubstr("x.yaml:2: an indentation"));
  EXPECT_THAT(problem("a:\n    b: 2\n  c: 3"), HasSubstr("x.yaml:3: an indentation"));
  EXPECT_THAT(problem("a:\n\tb: 2"), HasSubstr("x.yaml:2: a tab"));
  EXPECT_THAT(problem("a:\n- 1"), HasSubstr("lists are read as [] only"));
  EXPECT_THAT(problem("a"), HasSubstr("key: value"));
  EXPECT_THAT(problem("a:1"), HasSubstr("wants a blank behind its colon"));
  EXPECT_THAT(problem("a: &x 1"), HasSubstr("cannot begin with '&'"));
  EXPECT_THAT(problem("a: b: c"), HasSubstr("a colon inside a value"));
  EXPECT_THAT(problem("a: 'x' y"), HasSubstr("unexpected 'y'"));
  EXPECT_THAT(problem("a: 'x"), HasSubstr("not closed"));
  EXPECT_THAT(problem("a: 1\na: 2"), HasSubstr("a stands twice, first in line 1"));
}

TEST(Yaml, HasLimits) {
  std::string deep;
  for (size_t i = 0; i < 20; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(problem(deep), HasSubstr("more than 8 objects"));
  EXPECT_THAT(problem(std::string(2'000'000, '\n')), HasSubstr("at most 1048576"));
}

TEST(Yaml, EndsWithAnErrorOrAnObjectOnAnyBytes) {
  const std::string seed = "a:\n  b: 'x'\n  c: \"y\"\nd: 1.5 # e\nf: {}\ng: no\n";
  testing_support::read_damaged(seed, problem);
}

}  // namespace of_yaml

namespace of_launch_line {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

const char* kAuto = R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
                        "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"},
                        "gradient_clipping": "auto", "train_micro_batch_size_per_gpu": "auto",
                        "zero_optimization": {"stage": 2}})";
const Words kModel = {"model.name=gpt2", "data.train=synthetic", "run.steps=10"};

DeepSpeedImport import(const Words& launch_line, const char* json = kAuto,
                       const Words& given = kModel) {
  const testing_support::TempFile file("ds.json", json);
  return import_deepspeed(file.path(), {.overrides = given, .launch_line = launch_line});
}

RunConfig config_of(const DeepSpeedImport& import) {
  EXPECT_THAT(import.refused, IsEmpty());
  EXPECT_THAT(import.needs, IsEmpty());
  return read_config(import.toml, "import.toml").config;
}

/// "--name=value" of each entry, a word that is no flag as it is.
Words read(const Words& words) {
  Words read;
  for (const SourceEntry& entry : read_launch_line(words)) {
    read.push_back(entry.key + (entry.value ? "=" + to_text(*entry.value) : ""));
  }
  return read;
}

TEST(LaunchLine, IsReadAsArgparseDoes) {
  EXPECT_THAT(read({"deepspeed", "--num_gpus", "8", "train.py", "--learning-rate=5e-5", "--bf16",
                    "--max_steps", "-1", "--do_eval", "False"}),
              ElementsAre("deepspeed", "--num_gpus=8", "train.py", "--learning_rate=5e-05",
                          "--bf16=true", "--max_steps=-1", "--do_eval=false"));
  EXPECT_THROW(read({"--seed", "1", "--seed=2"}), Error);
  EXPECT_THROW(read(Words(2000, "--x")), Error);
}

TEST(LaunchLine, JoinsFlagsThatMakeOneValue) {
  EXPECT_THAT(read({"--adam_beta2", "0.95"}), ElementsAre("--adam_beta1=[0.9, 0.95]"));
  EXPECT_THAT(read({"--warmup_ratio", "0.03", "--max_steps", "1001"}),
              ElementsAre("--warmup_ratio=31", "--max_steps=1001"));
  EXPECT_THAT(read({"--warmup_ratio", "0.03", "--warmup_steps", "7"}),
              ElementsAre("--warmup_steps=7"));
}

TEST(LaunchLine, FillsWhatTheFileLeavesOpen) {
  const DeepSpeedImport made =
      import({"--learning_rate", "2e-4", "--adam_beta2=0.95", "--bf16", "--max_grad_norm", "0.5",
              "--per_device_train_batch_size", "4", "--gradient_accumulation_steps", "2",
              "--gradient_checkpointing", "--dataset_name", "wikitext", "run_clm.py"});
  const RunConfig config = config_of(made);
  EXPECT_EQ(config.optimizer.lr, 2e-4);
  EXPECT_EQ(config.optimizer.betas[1], 0.95);
  EXPECT_TRUE(config.bf16.enabled);
  EXPECT_FALSE(config.fp16.enabled) << "the other half type";
  EXPECT_EQ(config.gradient_clipping, 0.5);
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 4);
  EXPECT_EQ(config.gradient_accumulation_steps, 2);
  EXPECT_EQ(config.recompute.mode, Recompute::Mode::full);
  EXPECT_THAT(made.toml, HasSubstr("lr = 2e-04  # launch line"));
  EXPECT_THAT(made.report, Contains(HasSubstr("--dataset_name = \"wikitext\": nothing to set")));
  EXPECT_THAT(made.report, Contains("launch line: not read: run_clm.py"));
}

TEST(LaunchLine, YieldsToKeyAndValueAndContradictsNoFile) {
  const Words launch = {"--learning_rate",
                        "2e-4",
                        "--bf16",
                        "--max_grad_norm",
                        "1",
                        "--per_device_train_batch_size",
                        "4",
                        "--adam_beta1",
                        "0.9"};
  Words given = kModel;
  given.push_back("optimizer.lr=1e-3");
  EXPECT_EQ(config_of(import(launch, kAuto, given)).optimizer.lr, 1e-3);
  const char* written = R"({"optimizer": {"type": "AdamW", "params": {"lr": 0.1}}})";
  EXPECT_THAT(import(launch, written).refused,
              ElementsAre(HasSubstr("optimizer.params.lr: contradicts launch line, where it is "
                                    "2e-04; keep one")));
  EXPECT_THAT(import({"--learning_rat", "2e-4"}).refused,
              ElementsAre(HasSubstr("no such flag; did you mean --learning_rate?")));
}

TEST(LaunchLine, RefusesWhatWouldChangeTheTrainingAndIsNotDone) {
  EXPECT_THAT(import({"--freeze_embeds", "--optim", "adafactor"}).refused,
              ElementsAre(HasSubstr("--freeze_embeds: unsupported: write model.freeze=[...]"),
                          HasSubstr("--optim: unsupported: write adamw_torch")));
  EXPECT_THAT(import({"--freeze_embeds", "false", "--optim", "adamw_torch_fused"}).refused,
              IsEmpty());
}

TEST(LaunchLine, BringsTransformersSchedules) {
  const Words launch = {"--bf16", "--per_device_train_batch_size",
                        "4",      "--learning_rate",
                        "1e-4",   "--max_grad_norm",
                        "1",      "--adam_beta1",
                        "0.9",    "--lr_scheduler_type",
                        "cosine"};
  const ScheduleConfig cosine = config_of(import(launch)).scheduler;
  EXPECT_EQ(cosine.type, ScheduleType::WarmupCosineLR);
  EXPECT_EQ(cosine.cos_min_ratio, 0);
  EXPECT_EQ(cosine.warmup_num_steps, 0);
  Words linear(launch.begin(), launch.end() - 2);
  linear.insert(linear.end(), {"--warmup_steps", "4"});
  const RunConfig config = config_of(import(linear));
  EXPECT_EQ(config.scheduler.type, ScheduleType::WarmupDecayLR) << "the default there";
  EXPECT_EQ(config.scheduler.warmup_type, WarmupType::linear);
  EXPECT_EQ(config.scheduler.warmup_max_lr, 0) << "follows optimizer.lr";
  EXPECT_EQ(config.scheduler.warmup_num_steps, 4);
}

TEST(LaunchLine, AsksForStepsWhereOnlyTheirShareIsKnown) {
  const char* json = R"({"optimizer": {"type": "Adam", "params": {"lr": 1}},
                         "train_micro_batch_size_per_gpu": 1,
                         "scheduler": {"type": "WarmupLR",
                                       "params": {"warmup_num_steps": "auto"}}})";
  EXPECT_THAT(import({"--warmup_ratio", "0.03"}, json).needs,
              ElementsAre("scheduler.warmup_num_steps=..."));
}

}  // namespace of_launch_line

}  // namespace
}  // namespace zero
