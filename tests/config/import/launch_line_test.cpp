// Ranks: 1

#include "src/config/import/launch_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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
  EXPECT_THAT(import({"--label_smoothing_factor", "0.1", "--optim", "adafactor"}).refused,
              ElementsAre(HasSubstr("--label_smoothing_factor: unsupported: labels are not"),
                          HasSubstr("--optim: unsupported: write adamw_torch")));
  EXPECT_THAT(import({"--label_smoothing_factor", "0.0", "--optim", "adamw_torch_fused"}).refused,
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

}  // namespace
}  // namespace zero
