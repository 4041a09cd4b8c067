// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/config/import/rules.hpp"
#include "tests/support/models.hpp"
#include "tests/support/temp_file.hpp"
#include "zero/config/import_deepspeed.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::TempFile;

const std::vector<std::string> kRun = {"model.name=gpt2-xl", "data.train=synthetic", "run.steps=10",
                                       "train_micro_batch_size_per_gpu=1", "optimizer.lr=1e-3"};

RunConfig config_of(const DeepSpeedImport& import) {
  EXPECT_THAT(import.refused, IsEmpty());
  EXPECT_THAT(import.needs, IsEmpty());
  return read_config(import.toml, "import.toml").config;
}

TEST(AccelerateRules, RefusesAccelerateFilesThatContradictOrStartSomethingElse) {
  const TempFile json("named.json", R"({"gradient_clipping": 1.0})");
  const std::string name = json.path().substr(json.path().rfind('/') + 1);
  const TempFile yaml("acc.yaml",
                      "deepspeed_config:\n  gradient_clipping: 0.25\n"
                      "  deepspeed_config_file: " +
                          name + "\ndistributed_type: DEEPSPEED\nmixed_precision: fp8\n");
  EXPECT_THAT(import_deepspeed(yaml.path(), {.overrides = kRun}).refused,
              ElementsAre(HasSubstr("fp16, bf16 or no"),
                          AllOf(HasSubstr("named.json:1: gradient_clipping: contradicts"),
                                HasSubstr("acc.yaml:2"))));
}

TEST(AccelerateRules, RefuseTypesThatStartSomethingElse) {
  for (const char* type : {"MEGATRON_LM", "XLA", "TP"}) {
    const TempFile yaml("acc.yaml", std::string("distributed_type: ") + type + "\n");
    EXPECT_THAT(import_deepspeed(yaml.path(), {.overrides = kRun}).refused,
                ElementsAre(HasSubstr("write DEEPSPEED, FSDP, MULTI_GPU or NO")));
  }
}

RunConfig config_of_yaml(const std::string& yaml) {
  const TempFile file("acc.yaml", yaml);
  return config_of(import_deepspeed(file.path(), {.overrides = kRun}));
}

TEST(AccelerateRules, MakesAStageOfFsdpsStrategy) {
  const std::string fsdp = "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n";
  const std::pair<const char*, int> strategies[] = {
      {"  fsdp_sharding_strategy: FULL_SHARD\n", 3}, {"  fsdp_sharding_strategy: 2\n", 2},
      {"  sharding_strategy: NO_SHARD\n", 0},        {"  fsdp_reshard_after_forward: true\n", 3},
      {"  fsdp_reshard_after_forward: false\n", 2},  {"  fsdp_version: 2\n", 3}};
  for (const auto& [line, stage] : strategies) {
    const RunConfig config = config_of_yaml(fsdp + line);
    EXPECT_EQ(config.zero.stage, stage) << line;
    EXPECT_EQ(config.gradient_clipping, 1) << "not DeepSpeed's";
    EXPECT_EQ(config.zero.stage3_max_reuse_distance, stage == 3 ? 0 : 1'000'000'000) << line;
  }
  const RunConfig away =
      config_of_yaml(fsdp + "  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true\n");
  EXPECT_EQ(away.offload_param.device, Home::cpu);
  EXPECT_EQ(away.offload_optimizer.device, Home::cpu);
  EXPECT_EQ(away.recompute.mode, Recompute::Mode::full);
  EXPECT_EQ(config_of_yaml("distributed_type: MULTI_GPU\n").zero.stage, 0);
  const RunConfig hybrid = config_of_yaml(fsdp + "  fsdp_sharding_strategy: HYBRID_SHARD\n");
  EXPECT_EQ(hybrid.zero.shard_group, kGroupOfNode);
  EXPECT_EQ(hybrid.zero.stage, 3);
  const TempFile second("acc.yaml", fsdp + "  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2\n");
  EXPECT_THAT(import_deepspeed(second.path(), {.overrides = kRun}).refused,
              ElementsAre(HasSubstr("unsupported: write FULL_SHARD")));
}

TEST(AccelerateRules, OffloadWhatFsdpsActivationCheckpointingOffloads) {
  const RunConfig config = config_of_yaml(
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpointing: true\n"
      "  fsdp_activation_checkpointing_offload: true\n");
  EXPECT_EQ(config.recompute.mode, Recompute::Mode::full);
  EXPECT_EQ(config.offload_activations.offload, Home::cpu);
}

TEST(AccelerateRules, TakeCapitalsForSmallLettersWhereAccelerateDoes) {
  EXPECT_TRUE(config_of_yaml("distributed_type: MULTI_GPU\nmixed_precision: BF16\n").bf16.enabled);
  EXPECT_FALSE(config_of_yaml("distributed_type: MULTI_GPU\nmixed_precision: 'NO'\n").bf16.enabled);
  EXPECT_EQ(config_of_yaml("distributed_type: FSDP\nfsdp_config:\n"
                           "  fsdp_sharding_strategy: shard_grad_op\n")
                .zero.stage,
            2);
}

TEST(AccelerateRules, TakeSizesOfOneForNoOtherWayToCutAModel) {
  const std::string sizes = "distributed_type: MULTI_GPU\nparallelism_config:\n";
  EXPECT_EQ(config_of_yaml(sizes + "  parallelism_config_tp_size: 1\n"
                                   "  parallelism_config_cp_backend: torch\n")
                .zero.stage,
            0);
  const TempFile cut("acc.yaml", sizes + "  parallelism_config_tp_size: 2\n");
  EXPECT_THAT(import_deepspeed(cut.path(), {.overrides = kRun}).refused,
              ElementsAre(HasSubstr("tp_size: unsupported: a model is cut by ZeRO alone")));
}

TEST(AccelerateFlags, SetTheKeyOfTheConfigurationThatTheyAreNamedAfter) {
  EXPECT_EQ(accelerate_key("--zero_stage"), "deepspeed_config.zero_stage");
  EXPECT_EQ(accelerate_key("--fsdp_version"), "fsdp_config.fsdp_version");
  EXPECT_EQ(accelerate_key("--mixed_precision"), "mixed_precision");
  EXPECT_EQ(accelerate_key("--use_fsdp"), "distributed_type");
  EXPECT_EQ(accelerate_key("--zero_stag"), "");
  EXPECT_EQ(accelerate_key("zero_stage"), "");
}

}  // namespace
}  // namespace zero
