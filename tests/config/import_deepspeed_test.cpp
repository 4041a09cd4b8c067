// Ranks: 1

#include "zero/config/import_deepspeed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::TempFile;
using Words = std::vector<std::string>;

const Words kRun = {"model.name=gpt2-xl", "data.train=synthetic", "run.steps=10",
                    "train_micro_batch_size_per_gpu=1", "optimizer.lr=1e-3"};

DeepSpeedImport import_json(std::string_view json, const Words& given = kRun,
                            Unsupported unsupported = Unsupported::refuse) {
  const TempFile file("ds.json", json);
  return import_deepspeed(file.path(), {.overrides = given, .unsupported = unsupported});
}

/// What a run makes of the import.
RunConfig config_of(const DeepSpeedImport& import) {
  EXPECT_THAT(import.refused, IsEmpty());
  EXPECT_THAT(import.needs, IsEmpty());
  return read_config(import.toml, "import.toml").config;
}

RunConfig config_of(std::string_view json) { return config_of(import_json(json)); }

TEST(ImportDeepSpeed, MapsKeysOfTheSameMeaning) {
  const RunConfig config = config_of(R"({
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 2e8, "overlap_comm": true,
                          "contiguous_gradients": true},
    "optimizer": {"type": "adam", "params": {"betas": [0.8, 0.9], "adam_w_mode": false}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 5}},
    "fp16": {"enabled": true, "initial_scale_power": 8},
    "gradient_clipping": 0.5, "steps_per_print": 20})");
  EXPECT_EQ(config.zero.stage, 2);
  EXPECT_EQ(config.zero.reduce_bucket_size, 200'000'000);
  EXPECT_EQ(config.optimizer.type, OptimizerType::Adam);
  EXPECT_EQ(config.optimizer.betas[0], 0.8);
  EXPECT_FALSE(config.optimizer.adam_w_mode);
  EXPECT_EQ(config.scheduler.warmup_num_steps, 5);
  EXPECT_EQ(config.fp16.initial_scale_power, 8);
  EXPECT_EQ(config.gradient_clipping, 0.5);
  EXPECT_EQ(config.run.log_interval, 20);
}

TEST(ImportDeepSpeed, WritesOutDefaultsOfDeepSpeedThatDiffer) {
  const RunConfig config = config_of(R"({"zero_optimization": {"stage": 2},
                                         "scheduler": {"type": "WarmupDecayLR"}})");
  EXPECT_FALSE(config.zero.overlap_comm);
  EXPECT_EQ(config.gradient_clipping, 0);
  EXPECT_EQ(config.scheduler.warmup_type, WarmupType::log);
  EXPECT_EQ(config.scheduler.warmup_max_lr, 1e-3);
  EXPECT_TRUE(config_of(R"({"zero_optimization": {"stage": 3}})").zero.overlap_comm);
}

TEST(ImportDeepSpeed, MapsACycleWhoseMomentumStays) {
  const DeepSpeedImport import = import_json(
      R"({"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-2,
          "cycle_first_step_size": 30, "cycle_second_step_size": null, "decay_step_size": 5,
          "decay_lr_rate": 0.5, "cycle_momentum": false, "cycle_min_mom": 0.8}}})");
  const ScheduleConfig schedule = schedule_of(config_of(import)).config;
  EXPECT_EQ(schedule.type, ScheduleType::OneCycle);
  EXPECT_EQ(schedule.cycle_min_lr, 1e-4);
  EXPECT_EQ(schedule.cycle_max_lr, 1e-2);
  EXPECT_EQ(schedule.cycle_second_step_size, 30);
  EXPECT_EQ(schedule.decay_lr_rate, 0.5);
  EXPECT_THAT(import.report, Contains(HasSubstr("cycle_min_mom = 0.8: nothing to set: ")));
}

TEST(ImportDeepSpeed, RefusesACycleThatMovesTheMomentumToo) {
  const char* silent = R"({"scheduler": {"type": "OneCycle",
                            "params": {"cycle_min_lr": 0.1, "cycle_max_lr": 0.2}}})";
  EXPECT_THAT(import_json(silent).refused,
              ElementsAre(AllOf(HasSubstr("ds.json:1: scheduler.params.cycle_momentum: "),
                                HasSubstr("DeepSpeed's default is true"))));
  EXPECT_EQ(config_of(import_json(silent, kRun, Unsupported::leave_out)).scheduler.type,
            ScheduleType::OneCycle);
  EXPECT_THAT(import_json(R"({"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 0.1,
                              "cycle_max_lr": 0.2, "cycle_momentum": true}}})")
                  .refused,
              ElementsAre(HasSubstr("unsupported: true is not done: a cycle moves")));
}

TEST(ImportDeepSpeed, NamesTheRatesThatACycleCannotDoWithout) {
  EXPECT_THAT(import_json(R"({"scheduler": {"type": "OneCycle",
                              "params": {"cycle_momentum": false}}})")
                  .needs,
              ElementsAre("scheduler.cycle_min_lr=...", "scheduler.cycle_max_lr=..."));
}

TEST(ImportDeepSpeed, MapsARangeTestWhichHasRatesOfItsOwn) {
  Words given = kRun;
  given.pop_back();
  const DeepSpeedImport import =
      import_json(R"({"optimizer": {"type": "Adam", "params": {"lr": 0.5}},
                      "scheduler": {"type": "LRRangeTest", "params": {"lr_range_test_min_lr": 1e-4,
                          "lr_range_test_step_size": 20, "lr_range_test_step_rate": 5,
                          "lr_range_test_staircase": true}}})",
                  given);
  const ScheduleConfig schedule = config_of(import).scheduler;
  EXPECT_EQ(schedule.type, ScheduleType::LRRangeTest);
  EXPECT_EQ(schedule.lr_range_test_min_lr, 1e-4);
  EXPECT_EQ(schedule.lr_range_test_step_size, 20);
  EXPECT_EQ(schedule.lr_range_test_step_rate, 5);
  EXPECT_TRUE(schedule.lr_range_test_staircase);
  EXPECT_THAT(import.report, Contains(HasSubstr("lr = 0.5: left out: ")));
  EXPECT_THAT(import_json(R"({"scheduler": {"type": "LRRangeTest"}})", given).needs, IsEmpty());
}

TEST(ImportDeepSpeed, NamesAStageThatIsNotThere) {
  const DeepSpeedImport import = import_json(R"({"zero_optimization": {"overlap_comm": true}})");
  EXPECT_EQ(config_of(import).zero.stage, 0);
  EXPECT_THAT(import.report, Contains(HasSubstr("added: zero.stage = 0")));
}

TEST(ImportDeepSpeed, DerivesBucketsFromTheWidth) {
  const RunConfig config = config_of(R"({"zero_optimization": {"stage": 3,
      "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
      "stage3_param_persistence_threshold": "auto"}})");
  EXPECT_EQ(config.zero.reduce_bucket_size, 2'560'000);
  EXPECT_EQ(config.zero.stage3_prefetch_bucket_size, 2'304'000);
  EXPECT_EQ(config.zero.stage3_param_persistence_threshold, 16'000);
}

TEST(ImportDeepSpeed, NamesWhatTheTrainingScriptKnows) {
  const DeepSpeedImport import = import_json(
      R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto", "eps": "auto"}},
          "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"},
          "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto",
              "warmup_max_lr": "auto", "total_num_steps": "auto", "warmup_num_steps": "auto"}}})",
      {"optimizer.eps=1e-6"});
  EXPECT_THAT(import.needs,
              ElementsAre("train_micro_batch_size_per_gpu=...", "model.name=...", "data.train=...",
                          "run.steps=...", "optimizer.lr=...", "scheduler.warmup_num_steps=..."));
  EXPECT_THAT(import.toml, HasSubstr("eps = 1e-06  # command line"));
}

TEST(ImportDeepSpeed, LeavesOpenValuesSuchThatARunRefusesThemByTheirKey) {
  const DeepSpeedImport import =
      import_json(R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
                      "fp16": {"enabled": "auto"},
                      "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})",
                  {});
  try {
    read_config(import.toml, "import.toml");
    FAIL() << "an open value was accepted";
  } catch (const Error& error) {
    for (const char* key : {"optimizer.lr", "fp16.enabled", "zero.reduce_bucket_size", "model.name",
                            "data.train", "run.steps", "train_micro_batch_size_per_gpu"}) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(key) + ": "));
    }
  }
}

TEST(ImportDeepSpeed, AsksWhetherTheModelRecomputes) {
  const std::string json = R"({"activation_checkpointing": {"profile": false}})";
  EXPECT_THAT(import_json(json).needs, ElementsAre("activation_checkpointing.recompute=..."));
}

TEST(ImportDeepSpeed, LetsTheCommandLineWin) {
  Words given = kRun;
  given.push_back("zero.stage=3");
  const DeepSpeedImport import = import_json(R"({"zero_optimization": {"stage": 2}})", given);
  EXPECT_EQ(config_of(import).zero.stage, 3);
  EXPECT_THAT(import.report, Contains(HasSubstr("given as zero.stage = 3")));
  EXPECT_THAT(import_json("{}", {"zero.stagee=3"}).refused,
              ElementsAre(HasSubstr("command line: zero.stagee")));
  EXPECT_THAT(import_json("{}", {"zero.stage=7"}).refused, ElementsAre(HasSubstr("0 to 3")));
}

TEST(ImportDeepSpeed, TakesQuotedBooleansWithAWarningThatNamesTheirLine) {
  const DeepSpeedImport import = import_json(
      "{\n\"bf16\": {\n\"enabled\": \"True\"},\n\"flops_profiler\": {\"x\": \"true\"}}");
  EXPECT_TRUE(config_of(import).bf16.enabled);
  EXPECT_THAT(import.report,
              Contains(AllOf(HasSubstr("warning: "), HasSubstr("ds.json:3: bf16.enabled: \"True\""),
                             EndsWith("taken as true; write it without quotes"))));
  const TempFile yaml("acc.yaml",
                      "deepspeed_config:\n  zero_stage: 3\n"
                      "  zero3_save_16bit_model: 'true'\nnum_processes: 2\n");
  const DeepSpeedImport read = import_deepspeed(yaml.path(), {.overrides = kRun});
  EXPECT_TRUE(config_of(read).zero.stage3_gather_16bit_weights_on_model_save);
  EXPECT_THAT(read.report, Contains(HasSubstr("acc.yaml:3: deepspeed_config.zero3_save_16bit")));
}

TEST(ImportDeepSpeed, MapsOffloadAndItsOldNames) {
  for (const char* zero : {R"({"stage": 2, "cpu_offload": true})",
                           R"({"stage": 2, "offload_optimizer": {"device": "cpu"}})"}) {
    const DeepSpeedImport import =
        import_json(std::string(R"({"zero_optimization": )") + zero + "}");
    EXPECT_THAT(import.refused, IsEmpty());
    EXPECT_THAT(import.toml, HasSubstr("[zero.offload_optimizer]\ndevice = \"cpu\""));
  }
}

TEST(ImportDeepSpeed, SaysWhatIsAlwaysDone) {
  const DeepSpeedImport import = import_json(
      R"({"zero_optimization": {"stage": 1, "reduce_scatter": true}, "wandb": {"team": "x"}})");
  EXPECT_THAT(import.report, Contains(HasSubstr("reduce_scatter = true: always so: ")));
  EXPECT_THAT(import.report, Contains(HasSubstr("wandb.team = \"x\": nothing to set: ")));
}

TEST(ImportDeepSpeed, LeavesOutWhatHasNoEffect) {
  const DeepSpeedImport import = import_json(
      R"({"zero_optimization": {"stage": 2, "stage3_prefetch_bucket_size": 7},
          "bf16": {"enabled": true}, "fp16": {"enabled": false, "initial_scale_power": 8}})");
  const RunConfig config = config_of(import);
  EXPECT_EQ(config.zero.stage3_prefetch_bucket_size, 50'000'000);
  EXPECT_THAT(import.report, Contains(HasSubstr("stage3_prefetch_bucket_size = 7: left out: ")));
}

TEST(ImportDeepSpeed, RefusesWhatIsNotDoneOrLeavesItOut) {
  const char* json = R"({"optimizer": {"type": "OneBitAdam", "params": {"freeze_step": 4}},
                         "zero_optimization": {"stage": 1, "zero_quantized_weights": true},
                         "sparse_attention": {"mode": "fixed"}})";
  EXPECT_THAT(import_json(json).refused,
              ElementsAre(AllOf(HasSubstr("optimizer.type: unsupported: "), HasSubstr("\"LAMB\""),
                                HasSubstr("write AdamW, Adam, LAMB, Lion or SGD")),
                          HasSubstr("freeze_step: unsupported: "),
                          HasSubstr("zero_quantized_weights: unsupported: "),
                          HasSubstr("sparse_attention.mode: unsupported: ")));
  EXPECT_THAT(import_json(R"({"optimizer": {"type": 5}})").refused,
              ElementsAre(HasSubstr("write AdamW, Adam, LAMB, Lion or SGD")));
  const DeepSpeedImport import = import_json(json, kRun, Unsupported::leave_out);
  EXPECT_EQ(config_of(import).zero.stage, 1);
  EXPECT_THAT(import.report, Contains(HasSubstr("left out, unsupported: ")));
}

TEST(ImportDeepSpeed, TakesSizesOfGroupsHoweverTheyAreWritten) {
  const auto group_of = [](const char* keys) {
    return config_of(import_json(text(R"({"zero_optimization": {"stage": 3, )", keys, "}}")))
        .zero.shard_group;
  };
  EXPECT_EQ(group_of(R"("mics_shard_size": 4)"), 4);
  EXPECT_EQ(group_of(R"("mics_shard_size": 4, "zero_hpz_partition_size": 1)"), 4);
  EXPECT_EQ(group_of(R"("mics_shard_size": -1, "zero_hpz_partition_size": 8.0)"), 8);
  EXPECT_EQ(group_of(R"("mics_shard_size": -1, "zero_hpz_partition_size": 1)"), 0);
  const char* both = R"({"zero_optimization": {"stage": 3, "mics_shard_size": 4,
                                               "zero_hpz_partition_size": 8}})";
  EXPECT_THAT(import_json(both).refused, ElementsAre(HasSubstr("contradicts ")));
}

TEST(ImportDeepSpeed, SaysWhyANumberIsNotDoneHoweverItIsWritten) {
  const char* json = R"({"gradient_predivide_factor": 4,
                         "zero_optimization": {"stage3_module_granularity_threshold": 8.0}})";
  EXPECT_THAT(import_json(json).refused,
              ElementsAre(HasSubstr("unsupported: 4 is not done: sums of gradients are fp32"),
                          HasSubstr("unsupported: 8.0 is not done: units are fixed by the model")));
}

TEST(ImportDeepSpeed, TakesEveryValueOfAHintAndSaysWhatIsDoneInstead) {
  for (const char* number : {"0", "1e14", "250000"}) {
    const DeepSpeedImport import =
        import_json(text(R"({"zero_optimization": {"stage": 3, "sub_group_size": )", number,
                         R"(, "round_robin_gradients": true}, "comms_config": {"verbose": true},
                            "monitor_config": {"tag": "x"}, "comet": {"enabled": false}})"));
    EXPECT_EQ(config_of(import).zero.stage, 3);
    EXPECT_THAT(import.toml, ::testing::Not(HasSubstr("sub_group_size")));
    EXPECT_THAT(import.report, Contains(HasSubstr(": hint: the optimizer runs unit by unit")));
    EXPECT_THAT(import.report, Contains(HasSubstr("true: hint: every unit is cut in equal shar")));
    EXPECT_THAT(import.report, Contains(HasSubstr("comms_config.verbose = true: nothing to set")));
    EXPECT_THAT(import.report, Contains(HasSubstr("comet.enabled = false: switched off")));
  }
}

TEST(ImportDeepSpeed, SaysHowManyActivationsAreKeptWhateverNumberIsAskedFor) {
  Words given = kRun;
  given.push_back("activation_checkpointing.recompute=full");
  const DeepSpeedImport import =
      import_json(R"({"activation_checkpointing": {"number_checkpoints": 4}})", given);
  EXPECT_THAT(import.refused, IsEmpty());
  EXPECT_THAT(import.report, Contains(HasSubstr("recompute = \"full\" keeps the inputs of 48")));
}

TEST(ImportDeepSpeed, GathersOneUnitAtATimeWhereNoneMayLive) {
  const DeepSpeedImport import = import_json(
      R"({"zero_optimization": {"stage": 3, "max_live_parameters": 0, "max_reuse_distance": 0,
                                "reduce_bucket_size": 0, "prefetch_bucket_size": 3e6,
                                "stage3_prefetch_bucket_size": 0,
                                "gather_16bit_weights_on_model_save": true}})");
  const ZeroConfig zero = config_of(import).zero;
  EXPECT_EQ(zero.stage3_max_live_parameters, 0);
  EXPECT_EQ(zero.stage3_max_reuse_distance, 0);
  EXPECT_EQ(zero.reduce_bucket_size, 1600 * 1600) << "as long as a gradient";
  EXPECT_EQ(zero.stage3_prefetch_bucket_size, 0) << "with its prefix a key wins";
  EXPECT_TRUE(zero.stage3_gather_16bit_weights_on_model_save);
  EXPECT_THAT(import.report, Contains(HasSubstr("prefetch_bucket_size = 3e+06: left out")));
}

TEST(ImportDeepSpeed, FillsAutoWithTheDefaultsOfTransformers) {
  const TempFile file("ds.json", R"({"optimizer": {"type": "AdamW", "params": {"lr": "auto",
          "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
      "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": "auto"}},
      "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "gradient_clipping": "auto",
      "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})");
  const Words given = {"model.name=gpt2", "data.train=text.txt"};
  EXPECT_THAT(import_deepspeed(file.path(), {.overrides = given}).needs,
              Contains("optimizer.lr=..."));
  const DeepSpeedImport import =
      import_deepspeed(file.path(), {.overrides = given, .hf_defaults = true});
  const RunConfig config = config_of(import);
  EXPECT_EQ(config.optimizer.lr, 5e-5);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.9, 0.999}));
  EXPECT_EQ(config.optimizer.eps, 1e-8);
  EXPECT_EQ(config.optimizer.weight_decay, 0);
  EXPECT_EQ(config.scheduler.warmup_num_steps, 0);
  EXPECT_EQ(config.gradient_clipping, 1);
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, 8);
  EXPECT_EQ(config.run.epochs, 3);
  EXPECT_FALSE(config.fp16.enabled || config.bf16.enabled);
  EXPECT_THAT(import.toml, HasSubstr("lr = 5e-05  # Transformers' default"));
}

TEST(ImportDeepSpeed, TakesASectionThatIsSwitchedOffForNothing) {
  const char* json = R"({"sparse_attention": {"enabled": false, "mode": "fixed"}})";
  EXPECT_THAT(import_json(json).refused, IsEmpty());
}

TEST(ImportDeepSpeed, TakesASectionThatIsAutoAndHasNoTwinForOff) {
  for (const char* section : {R"("amp": {"enabled": "auto", "opt_level": "auto"})",
                              R"("amp": {"opt_level": "O1", "enabled": "auto"})",
                              R"("torch_autocast": {"enabled": "auto", "dtype": "auto"})"}) {
    EXPECT_THAT(import_json(text("{", section, "}")).refused, IsEmpty()) << section;
  }
  EXPECT_THAT(import_json(R"({"amp": {"enabled": true, "opt_level": "auto"}})").refused,
              Contains(HasSubstr("amp.enabled: unsupported")));
}

TEST(ImportDeepSpeed, NamesTheNearestKey) {
  EXPECT_THAT(import_json(R"({"zero_optimisation": {"stage": 3}})").refused,
              ElementsAre(HasSubstr("did you mean zero_optimization.stage?")));
}

TEST(ImportDeepSpeed, WarnsOfAWarmUpThatOutlastsTheRun) {
  const DeepSpeedImport import =
      import_json(R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 100}}})");
  EXPECT_THAT(import.report,
              Contains(AllOf(HasSubstr("warning: "), HasSubstr("does not end within"))));
}

TEST(ImportDeepSpeed, ReadsAnAccelerateFileAndTheFileThatItNames) {
  const TempFile json("named.json", R"({"zero_optimization": {"stage": 3},
                                        "gradient_clipping": "auto"})");
  const std::string name = json.path().substr(json.path().rfind('/') + 1);
  const TempFile yaml("acc.yaml", "deepspeed_config:\n  deepspeed_config_file: " + name +
                                      "\n  gradient_clipping: 0.25\n"
                                      "distributed_type: DEEPSPEED\nmixed_precision: bf16\n"
                                      "num_machines: 2\nnum_processes: 16\n");
  const DeepSpeedImport import =
      import_deepspeed(yaml.path(), {.overrides = kRun, .name = "run.toml"});
  const RunConfig config = config_of(import);
  EXPECT_EQ(config.zero.stage, 3);
  EXPECT_EQ(config.gradient_clipping, 0.25);
  EXPECT_TRUE(config.bf16.enabled);
  EXPECT_THAT(import.report, Contains("launch: mpirun --mca odls_base_sigkill_timeout 2 -n 16 "
                                      "--map-by ppr:8:node ./zeroapp run.toml"));
}

TEST(ImportDeepSpeed, RefusesFilesThatItCannotRead) {
  EXPECT_THROW(import_deepspeed("absent.json", {.overrides = kRun}), Error);
  EXPECT_THROW(import_deepspeed("/tmp", {.overrides = kRun}), Error);
}

}  // namespace
}  // namespace zero
