// Ranks: 1

#include "zero/config/import_deepspeed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/fields.hpp"
#include "src/config/import/rules.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::TempFile;
using Words = std::vector<std::string>;

const Words kRun = {"model.name=gpt2-xl", "data.train=synthetic", "run.steps=10",
                    "train_micro_batch_size_per_gpu=1", "optimizer.lr=1e-3"};

DeepSpeedImport import_json(std::string_view json, const Words& given = kRun,
                            Unsupported unsupported = Unsupported::refuse) {
  const TempFile file("ds.json", json);
  return import_deepspeed(file.path(), given, unsupported);
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

TEST(ImportDeepSpeed, RefusesQuotedBooleansWithTheirLine) {
  const DeepSpeedImport import = import_json(
      "{\n\"fp16\": {\n\"enabled\": \"true\"},\n\"flops_profiler\": {\"x\": \"True\"}}");
  EXPECT_THAT(import.refused, ElementsAre(AllOf(HasSubstr("ds.json:3: fp16.enabled: "),
                                                EndsWith("write true or false, without quotes"))));
  EXPECT_EQ(import.toml, "");
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
              ElementsAre(HasSubstr("optimizer.type: unsupported: write AdamW"),
                          HasSubstr("freeze_step: unsupported: "),
                          HasSubstr("zero_quantized_weights: unsupported: "),
                          HasSubstr("sparse_attention.mode: unsupported: ")));
  const DeepSpeedImport import = import_json(json, kRun, Unsupported::leave_out);
  EXPECT_EQ(config_of(import).zero.stage, 1);
  EXPECT_THAT(import.report, Contains(HasSubstr("left out, unsupported: ")));
}

TEST(ImportDeepSpeed, SaysWhyANumberIsNotDoneHoweverItIsWritten) {
  const char* json = R"({"zero_optimization": {"stage": 3, "sub_group_size": 1e14},
                         "activation_checkpointing": {"number_checkpoints": 4}})";
  EXPECT_THAT(import_json(json).refused,
              ElementsAre(HasSubstr("unsupported: 1e+14 is not done: the optimizer runs unit by"),
                          HasSubstr("unsupported: 4 is not done: recompute says which blocks")));
}

TEST(ImportDeepSpeed, TakesASectionThatIsSwitchedOffForNothing) {
  const char* json = R"({"sparse_attention": {"enabled": false, "mode": "fixed"}})";
  EXPECT_THAT(import_json(json).refused, IsEmpty());
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
      import_deepspeed(yaml.path(), kRun, Unsupported::refuse, "run.toml");
  const RunConfig config = config_of(import);
  EXPECT_EQ(config.zero.stage, 3);
  EXPECT_EQ(config.gradient_clipping, 0.25);
  EXPECT_TRUE(config.bf16.enabled);
  EXPECT_THAT(import.report, Contains("launch: mpirun --mca odls_base_sigkill_timeout 20 -n 16 "
                                      "--map-by ppr:8:node ./zeroapp run.toml"));
}

TEST(ImportDeepSpeed, RefusesAccelerateFilesThatContradictOrStartSomethingElse) {
  const TempFile json("named.json", R"({"gradient_clipping": 1.0})");
  const std::string name = json.path().substr(json.path().rfind('/') + 1);
  const TempFile yaml("acc.yaml",
                      "deepspeed_config:\n  gradient_clipping: 0.25\n"
                      "  deepspeed_config_file: " +
                          name + "\ndistributed_type: FSDP\nmixed_precision: fp8\n");
  EXPECT_THAT(import_deepspeed(yaml.path(), kRun, Unsupported::refuse).refused,
              ElementsAre(HasSubstr("FULL_SHARD is zero.stage = 3"), HasSubstr("fp16, bf16 or no"),
                          AllOf(HasSubstr("named.json:1: gradient_clipping: contradicts"),
                                HasSubstr("acc.yaml:2"))));
}

TEST(ImportDeepSpeed, RefusesFilesThatItCannotRead) {
  EXPECT_THROW(import_deepspeed("absent.json", kRun, Unsupported::refuse), Error);
  EXPECT_THROW(import_deepspeed("/tmp", kRun, Unsupported::refuse), Error);
}

TEST(ImportDeepSpeed, FollowsRulesThatLeadToKeysOfAnInputFile) {
  RunConfig config;
  Words keys;
  for (const Field& field : fields_of(config)) keys.push_back(field.key);
  for (const auto rules : {deepspeed_rules(), accelerate_rules()}) {
    for (const ImportRule& rule : rules) {
      if (rule.to.empty()) continue;
      EXPECT_THAT(keys, Contains(std::string(rule.to))) << rule.from;
    }
  }
}

}  // namespace
}  // namespace zero
