// Ranks: 1
#include "src/config/import/translation.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/config/import/import_words.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

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

/// Translates "auto" for a training that begins with a model.
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

DeepSpeedImport import_by_default(const Words& launch_line, const Words& given) {
  const testing_support::TempFile file(
      "ds.json", R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization":
                     {"stage": 2}, "gradient_clipping": "auto"})");
  return import_deepspeed(file.path(),
                          {.overrides = given, .launch_line = launch_line, .hf_defaults = true});
}

RunConfig config_of(const DeepSpeedImport& import) {
  EXPECT_THAT(import.refused, IsEmpty());
  EXPECT_THAT(import.needs, IsEmpty());
  return read_config(import.toml, "import.toml").config;
}

TEST(Translation, AsksForFlagsOfTheScriptAloneInPlaceOfADefault) {
  const Words model = {"model.name=gpt2", "data.train=text.txt"};
  const DeepSpeedImport made = import_by_default(
      {"train.py", "--lr", "1e-4", "--epochs", "5", "--batch_size", "4", "--clip", "0.3"}, model);
  EXPECT_THAT(made.needs, ElementsAre("train_micro_batch_size_per_gpu=...", "gradient_clipping=...",
                                      "run.epochs=...", "optimizer.lr=..."));
  EXPECT_THAT(made.report,
              Contains("warning: launch line: --lr = 1e-04: a flag of the script alone; if it is "
                       "optimizer.lr, write optimizer.lr=1e-04"));
  Words given = model;
  given.insert(given.end(), {"optimizer.lr=1e-4", "run.steps=7", "gradient_clipping=1",
                             "train_micro_batch_size_per_gpu=4"});
  const DeepSpeedImport whole = import_by_default(
      {"--lr", "1e-4", "--epochs", "5", "--batch_size", "4", "--clip", "1"}, given);
  EXPECT_EQ(config_of(whole).optimizer.lr, 1e-4);
  EXPECT_THAT(whole.report, Contains(HasSubstr("--lr = 1e-04: given as optimizer.lr = 1e-04")));
}

/// Gives the flag the value, and returns the key=value that the report advises; "" if none.
std::string advised(const std::string& flag, const std::string& value) {
  const std::string write = ", write ";
  for (const std::string& line : import_by_default({"train.py", flag, value}, {}).report) {
    const size_t found = line.find(write);
    if (found != line.npos) return line.substr(found + write.size());
  }
  return "";
}

TEST(Translation, AdvisesOnlyWhatTheKeyTakes) {
  for (const ImportRule& rule : own_rules()) {
    for (const std::string& flag : rule.keys()) {
      for (const char* value : {"0.1", "2", "true", "linear", "bf16", "cpu", "adamw"}) {
        const std::string advice = advised(flag, value);
        ASSERT_TRUE(advice.starts_with(rule.target(flag) + "=")) << flag << " " << advice;
        if (advice.ends_with("=...")) continue;
        EXPECT_THAT(import_by_default({}, {advice}).refused, IsEmpty()) << flag << " " << value;
      }
    }
  }
  EXPECT_EQ(advised("--warmup_epochs", "2"), "scheduler.warmup_num_steps=...") << "another unit";
  EXPECT_EQ(advised("--offload", "true"), "zero.offload_optimizer.device=...");
  EXPECT_EQ(advised("--precision", "16"), "bf16.enabled=...");
  EXPECT_EQ(advised("--precision", "bf16"), "bf16.enabled=true");
  EXPECT_EQ(advised("--scheduler", "linear"), "scheduler.type=...");
  EXPECT_EQ(advised("--beta1", "0.9"), "optimizer.betas=...");
  EXPECT_EQ(advised("--lr", "0.1"), "optimizer.lr=0.1");
}

TEST(Translation, AsksForABatchOfAllRanksByTheKeyOfOne) {
  const Words model = {"model.name=gpt2", "data.train=text.txt"};
  const Words launch = {"train.py", "--global_batch_size", "64"};
  EXPECT_THAT(import_by_default(launch, model).needs, ElementsAre("train_batch_size=..."));
  Words given = model;
  given.push_back("train_batch_size=64");
  EXPECT_EQ(config_of(import_by_default(launch, given)).train_batch_size, 64);
  given.back() = "train_micro_batch_size_per_gpu=4";
  EXPECT_THAT(import_by_default(launch, given).needs, ElementsAre("train_batch_size=..."));
  given.push_back("gradient_accumulation_steps=2");
  EXPECT_THAT(import_by_default(launch, given).needs, IsEmpty());
}

TEST(Translation, TakesAShareOfTheStepsThatAct) {
  const Words model = {"model.name=gpt2", "data.train=text.txt"};
  const Words launch = {"--warmup_ratio", "0.03", "--max_steps", "1001"};
  const auto with = [&](const char* given) {
    return import_by_default(launch, {model[0], model[1], given});
  };
  EXPECT_EQ(config_of(import_by_default(launch, model)).scheduler.warmup_num_steps, 31);
  EXPECT_EQ(config_of(with("run.steps=100")).scheduler.warmup_num_steps, 3) << "wins";
  EXPECT_THAT(with("run.epochs=2").needs, ElementsAre("scheduler.warmup_num_steps=..."))
      << "nobody knows how many steps two epochs have";
  EXPECT_THAT(import_by_default({"--warmup_ratio", "1"}, model).needs,
              ElementsAre("scheduler.warmup_num_steps=..."))
      << "a whole share is no step";
}

}  // namespace
}  // namespace zero
