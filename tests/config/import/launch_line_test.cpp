// Ranks: 1

#include "src/config/import/launch_line.hpp"

#include "tests/config/import/import_words.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::Not;

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
  const LaunchLine line = read_launch_line(words);
  for (const Source& source : {line.flags, line.accelerate}) {
    for (const SourceEntry& entry : source) {
      read.push_back(entry.key + (entry.value ? "=" + to_text(*entry.value) : ""));
    }
  }
  return read;
}

TEST(LaunchLine, IsReadAsArgparseDoes) {
  EXPECT_THAT(read({"deepspeed", "--num_gpus", "8", "train.py", "--learning-rate=5e-5", "--bf16",
                    "--max_steps", "-1", "--do_eval", "False"}),
              ElementsAre("deepspeed", "--num_gpus=8", "train.py", "--learning_rate=5e-05",
                          "--bf16=true", "--max_steps=-1", "--do_eval=false"));
  EXPECT_THROW(read({"--seed", "1", "--seed=2"}), Error);
  EXPECT_THAT(read({"--dataset_name", "a", "--dataset_name", "b"}),
              ElementsAre("--dataset_name=\"a\"", "--dataset_name=\"b\""));
  EXPECT_THAT(read({"deepspeed", "--log_level", "info", "a.py", "--log_level=error"}),
              ElementsAre("deepspeed", "--log_level=\"info\"", "a.py", "--log_level=\"error\""));
  EXPECT_THROW(read(Words(2000, "--x")), Error);
}

TEST(LaunchLine, TakesNumbersAsPythonWritesThem) {
  EXPECT_THAT(read({"--weight_decay", "0.", "--learning_rate=.0001", "--adam_epsilon", "1.e-8"}),
              ElementsAre("--weight_decay=0.0", "--learning_rate=1e-04", "--adam_epsilon=1e-08"));
}

TEST(LaunchLine, CompletesTheOnlyBeginningOfAFlagAsArgparseDoes) {
  EXPECT_THAT(read({"train.py", "--adam_eps", "1e-6", "--per-device-train", "4", "--warmup_r=0"}),
              ElementsAre("train.py", "--adam_epsilon=1e-06", "--per_device_train_batch_size=4",
                          "--warmup_ratio=0"));
  EXPECT_THAT(read({"--warmup", "7", "--max_seq", "8"}), ElementsAre("--warmup=7", "--max_seq=8"))
      << "two flags begin so, and one of a script alone";
  EXPECT_THROW(read({"--adam_eps", "1", "--adam_epsilon", "1"}), Error);
  EXPECT_EQ(config_of(import({"--adam_eps", "1e-6", "--learning_rate", "1", "--max_grad_norm", "1",
                              "--fp16", "--per_device_train", "1", "--adam_beta1", "0.9"}))
                .optimizer.eps,
            1e-6);
}

TEST(LaunchLine, TellsWhatABeginningOfSeveralFlagsCouldBe) {
  EXPECT_THAT(import({"train.py", "--adam", "0.9"}).report,
              Contains("warning: launch line: --adam = 0.9: nothing to set: could be short for "
                       "--adam_beta1, --adam_beta2, --adam_epsilon; write the one that is meant "
                       "whole"));
  EXPECT_THAT(import({"train.py", "--per_device", "8"}).report,
              Contains(AllOf(HasSubstr("--per_device_train_batch_size"),
                             HasSubstr("--per_device_eval_batch_size"))));
  EXPECT_THAT(import({"deepspeed", "--num", "8", "train.py"}).report,
              Contains(AllOf(HasSubstr("launch line: --num = 8: nothing to set"),
                             HasSubstr("--num_gpus"), Not(HasSubstr("--num_train_epochs")))));
  EXPECT_THAT(import({"train.py", "--l", "8"}).report, Contains(HasSubstr(" more; write the one")));
}

TEST(LaunchLine, CompletesNoFlagOfAccelerateWhichTakesWholeNamesAlone) {
  const Words words = {"accelerate", "launch", "--zero_st", "3", "x.py", "--adam_eps", "1"};
  EXPECT_THAT(read(words),
              ElementsAre("accelerate", "launch", "--zero_st=3", "x.py", "--adam_epsilon=1"));
  EXPECT_THAT(import(words).report,
              Contains("warning: launch line: --zero_st = 3: nothing to set: no known flag; if "
                       "--zero_stage is meant, write that"));
}

TEST(LaunchLine, TakesTransformersWordsForBooleans) {
  for (const char* yes : {"yes", "true", "T", "y", "1", "Yes"}) {
    EXPECT_THAT(read({"a.py", "--bf16", yes}), ElementsAre("a.py", "--bf16=true")) << yes;
  }
  for (const char* no : {"no", "False", "f", "N", "0"}) {
    EXPECT_THAT(read({"a.py", text("--group-by-length=", no)}),
                ElementsAre("a.py", "--group_by_length=false"))
        << no;
  }
  EXPECT_THAT(read({"a.py", "--seed", "1", "--optim", "no"}),
              ElementsAre("a.py", "--seed=1", "--optim=\"no\""));
}

TEST(LaunchLine, ReadsTheFlagsInFrontOfTheScriptAsItsLaunchers) {
  EXPECT_THAT(read({"accelerate", "launch", "--use_deepspeed", "--mixed-precision", "bf16",
                    "--fsdp_offload_params=true", "-m", "--debug", "pkg.train",
                    "--gradient_accumulation_steps", "2", "--debug", "x"}),
              ElementsAre("accelerate", "launch", "--module=true", "pkg.train",
                          "--gradient_accumulation_steps=2", "--debug=\"x\"",
                          "distributed_type=\"DEEPSPEED\"", "mixed_precision=\"bf16\"",
                          "fsdp_config.fsdp_offload_params=true", "debug=true"));
  EXPECT_THAT(read({"torchrun", "--standalone", "train.py"}),
              ElementsAre("torchrun", "--standalone=true", "train.py"));
  EXPECT_THAT(read({"/opt/bin/deepspeed", "-i", "host:0,1", "--num_g", "2", "train.py", "-x"}),
              ElementsAre("/opt/bin/deepspeed", "--include=\"host:0,1\"", "--num_gpus=2",
                          "train.py", "-x"));
  EXPECT_THAT(read({"python", "-m", "torch.distributed.run", "--use_env", "train.py"}),
              ElementsAre("python", "-m", "torch.distributed.run", "--use_env=true", "train.py"));
  EXPECT_THAT(read({"--num_processes", "2"}), ElementsAre("num_processes=2"))
      << "without a launcher's name";
}

TEST(LaunchLine, FindsAScriptThatIsNoFileOfPython) {
  EXPECT_THAT(read({"python3", "-m", "pkg.train", "--num_processes", "2"}),
              ElementsAre("python3", "-m", "pkg.train", "--num_processes=2"));
  EXPECT_THAT(read({"./train", "--zero_stage", "2"}), ElementsAre("./train", "--zero_stage=2"))
      << "scripts have a flag of this name";
  EXPECT_THAT(
      read({"python", "-u", "-m", "accelerate.commands.accelerate_cli", "launch", "--zero_stage",
            "2", "-m", "pkg.train", "--zero_stage", "1"}),
      ElementsAre("python", "-u", "-m", "accelerate.commands.accelerate_cli", "launch",
                  "--module=true", "pkg.train", "--zero_stage=1", "deepspeed_config.zero_stage=2"));
}

std::string problem_of_line(const Words& words) {
  try {
    read(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "no problem";
}

TEST(LaunchLine, ShowsWordsThatNoCommandHas) {
  EXPECT_THAT(problem_of_line({"deepspeed train.py --lr 1"}),
              HasSubstr("\"deepspeed train.py --lr 1\": is one word for the shell"));
  EXPECT_THAT(problem_of_line({"train.py", "--lr 1 --bf16"}),
              HasSubstr("\"--lr 1 --bf16\": is no flag"));
  EXPECT_THAT(problem_of_line({"--fp16", "True", "train.py --lr 1"}), HasSubstr("is one word"));
  for (const char* mark : {"&&", "||", ";", "|"}) {
    EXPECT_THAT(problem_of_line({"train.py", "--seed", "1", mark, "rm", "x"}),
                HasSubstr("begins another command; write the training's alone"));
  }
  EXPECT_THAT(problem_of_line({"train.py", "\u2013-lr", "1"}),
              HasSubstr("typographic dash; write --"));
  EXPECT_THAT(problem_of_line({"train.py", "\u2014lr", "1"}), HasSubstr("typographic dash"));
  EXPECT_THAT(problem_of_line({"train.py", "--max_steps", "\u22121"}),
              HasSubstr("typographic dash"));
  EXPECT_THAT(problem_of_line({"\u201Ctrain.py\u201D"}), HasSubstr("typographic quote"));
  EXPECT_THAT(problem_of_line({"train.py", "--lr\u00A01"}), HasSubstr("is no flag"));
  EXPECT_THAT(problem_of_line({"train.py", "\\", "--lr"}), HasSubstr("is no word of a command"));
  EXPECT_THAT(problem_of_line({"train.py", ""}), HasSubstr("is no word of a command"));
  EXPECT_THAT(read({"RUN=a b", "train.py", "--prompts", "a b", "c d"}),
              ElementsAre("RUN=a b", "train.py", "--prompts=\"a b\"", "c d"));
}

TEST(LaunchLine, PartsAStrategyFromWhatIsOffloaded) {
  const char* open = R"({"zero_optimization": {"overlap_comm": true}})";
  Words given = kModel;
  given.insert(given.end(), {"train_micro_batch_size_per_gpu=1", "optimizer.lr=1"});
  const RunConfig full = config_of(import({"--fsdp", "full_shard offload auto_wrap"}, open, given));
  EXPECT_EQ(full.zero.stage, 3);
  EXPECT_EQ(full.offload_optimizer.device, Home::cpu);
  EXPECT_EQ(full.offload_param.device, Home::cpu);
  const RunConfig half = config_of(import({"--fsdp=shard_grad_op auto_wrap offload"}, open, given));
  EXPECT_EQ(half.zero.stage, 2);
  EXPECT_EQ(half.offload_optimizer.device, Home::cpu);
  EXPECT_EQ(half.offload_param.device, Home::none);
  const RunConfig old = config_of(import({"--sharded_ddp", "zero_dp_3 offload"}, open, given));
  EXPECT_EQ(old.offload_param.device, Home::cpu);
  for (const char* strategy : {"hybrid_shard", "offload", "full_shard x"}) {
    EXPECT_THAT(import({"--fsdp", strategy}, open, given).refused,
                ElementsAre(HasSubstr("--fsdp: unsupported: write zero.stage=...")));
  }
}

TEST(LaunchLine, TakesTypographyInsideOfTexts) {
  EXPECT_THAT(read({"a.py", "--prefix", "\u2013 said he:", "--prompt", "\u201CNo\u201D"}),
              ElementsAre("a.py", "--prefix=\"\u2013 said he:\"", "--prompt=\"\u201CNo\u201D\""));
}

TEST(LaunchLine, RefusesAFileOfSettingsInPlaceOfFlags) {
  EXPECT_THAT(import({"torchrun", "run_clm.py", "args.json"}).refused,
              ElementsAre(HasSubstr("args.json: unsupported: a file of settings")));
  const DeepSpeedImport made =
      import({"run_clm.py", "--config", "a.yaml", "--files", "b.json", "c.json"});
  EXPECT_THAT(made.refused, IsEmpty());
  EXPECT_THAT(made.report,
              Contains(HasSubstr("warning: launch line: --config = \"a.yaml\": a file")));
  EXPECT_THAT(made.report, Contains("launch line: not read: run_clm.py c.json"));
}

TEST(LaunchLine, PassesOverFlagsThatAreNearAKnownOne) {
  for (const char* flag : {"--n_train", "--lora_rank", "--learning_rte", "--max_seq"}) {
    const DeepSpeedImport made = import({"train.py", flag, "8"});
    EXPECT_THAT(made.refused, IsEmpty()) << flag;
    EXPECT_THAT(made.report, Contains(HasSubstr(std::string(flag) + " = 8: nothing to set")));
  }
  EXPECT_THAT(import({"--learning_rte", "8"}).report,
              Contains("warning: launch line: --learning_rte = 8: nothing to set: no known flag; "
                       "if --learning_rate is meant, write that"));
}

DeepSpeedImport import_by_default(const Words& launch_line, const Words& given) {
  const testing_support::TempFile file("ds.json", kAuto);
  return import_deepspeed(file.path(),
                          {.overrides = given, .launch_line = launch_line, .hf_defaults = true});
}

TEST(LaunchLine, AsksForAWarmUpOfTheScriptAloneWithItsSchedule) {
  const Words given = {"model.name=gpt2", "data.train=text.txt"};
  EXPECT_THAT(import_by_default({"--warmup", "100", "--zero_stage=1"}, given).needs,
              ElementsAre("scheduler.type=...", "scheduler.warmup_num_steps=..."));
  EXPECT_THAT(import_by_default({"--bf16", "--torch_dtype", "bfloat16"}, given).needs, IsEmpty());
  EXPECT_THAT(import_by_default({"train.py", "--torch_dtype", "bfloat16"}, given).needs,
              ElementsAre("bf16.enabled=..."));
  EXPECT_THAT(import_by_default({"--warmup_ratio", "0.03"}, given).needs,
              ElementsAre("scheduler.warmup_num_steps=..."))
      << "a share of a number that nobody knows is no default either";
}

TEST(LaunchLine, TakesAWarmUpBelowOneStepForAShare) {
  EXPECT_THAT(read({"--warmup_steps", "0.1", "--max_steps", "50"}),
              ElementsAre("--warmup_ratio=0.1", "--max_steps=50"));
}

TEST(LaunchLine, BringsTransformersLinearScheduleByDefault) {
  const RunConfig config =
      config_of(import_by_default({"--max_steps", "10"}, {"model.name=gpt2", "data.train=t"}));
  EXPECT_EQ(config.scheduler.type, ScheduleType::WarmupDecayLR);
  EXPECT_EQ(config.scheduler.warmup_num_steps, 0);
  EXPECT_EQ(config.scheduler.warmup_type, WarmupType::linear);
}

TEST(LaunchLine, LetsStepsWinOverEpochs) {
  const Words model = {"model.name=gpt2", "data.train=text.txt"};
  for (const Words& words : {Words{"--num_train_epochs", "3", "--max_steps", "100"},
                             Words{"--max_steps=100", "--num_train_epochs=2.5"}}) {
    const DeepSpeedImport made = import_by_default(words, model);
    EXPECT_EQ(config_of(made).run.steps, 100);
    EXPECT_EQ(config_of(made).run.epochs, 0);
    EXPECT_THAT(made.report, Contains(HasSubstr("left out: --max_steps wins, as in Transformers")));
  }
  EXPECT_EQ(config_of(import_by_default({"--num_train_epochs", "3", "--max_steps", "-1"}, model))
                .run.epochs,
            3);
  Words given = model;
  given.push_back("run.epochs=4");
  EXPECT_EQ(config_of(import_by_default({"--max_steps", "100"}, given)).run.epochs, 4);
  given.back() = "run.steps=9";
  EXPECT_EQ(config_of(import_by_default({"--num_train_epochs", "3"}, given)).run.steps, 9);
}

TEST(LaunchLine, MapsFlagsOfAcceleratesScripts) {
  EXPECT_TRUE(
      config_of(import_by_default({"train.py", "--mixed_precision=fp16", "--max_steps", "1"},
                                  {"model.name=gpt2", "data.train=t"}))
          .fp16.enabled);
}

TEST(LaunchLine, JoinsFlagsThatMakeOneValue) {
  EXPECT_THAT(read({"--adam_beta2", "0.95"}), ElementsAre("--adam_beta1=[0.9, 0.95]"));
  EXPECT_THAT(read({"--warmup_ratio", "0.03", "--warmup_steps", "7"}),
              ElementsAre("--warmup_ratio=0.03", "--warmup_steps=7"));
}

TEST(LaunchLine, TellsOfEveryFlagThatItJoinsOrLeavesOut) {
  const DeepSpeedImport made = import(
      {"--adam_beta1=0.8", "--adam_beta2", "0.9", "--warmup_ratio", "0.1", "--warmup_steps", "7"});
  EXPECT_THAT(made.report, Contains("launch line: --adam_beta1 and --adam_beta2 = [0.8, 0.9]: "
                                    "mapped to optimizer.betas"));
  EXPECT_THAT(made.report, Contains("launch line: --warmup_ratio = 0.1: left out: --warmup_steps "
                                    "wins, as in Transformers"));
  EXPECT_THAT(import({"--warmup_st", "0.1", "--max_steps", "50"}).report,
              Contains(HasSubstr("--warmup_st, short for --warmup_steps = 1: mapped to")));
  EXPECT_THAT(import({"--adam_beta2", "0.9"}).report,
              Contains(HasSubstr("launch line: --adam_beta2 = [0.9, 0.9]: mapped")));
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
  EXPECT_THAT(import({"--warmup_ratio", "0.03"}, json,
                     {"model.name=gpt2", "data.train=text.txt", "run.epochs=1"})
                  .needs,
              ElementsAre("scheduler.warmup_num_steps=..."));
}

}  // namespace
}  // namespace zero
