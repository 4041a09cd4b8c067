// Ranks: 1

#include "src/config/import/files.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/config/import/import_words.hpp"
#include "zero/base/error.hpp"
#include "zero/config/read_config.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::Not;

const Words kRun = {"model.name=gpt2", "data.train=synthetic", "run.steps=10",
                    "train_micro_batch_size_per_gpu=1", "optimizer.lr=1e-3"};

/// A working folder of its own, as the user starts the program in it.
class ImportFilesTest : public ::testing::Test {
 protected:
  ImportFilesTest() {
    std::filesystem::create_directories(folder_ / "configs");
    std::filesystem::current_path(folder_);
  }
  ~ImportFilesTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  static DeepSpeedImport import(const std::string& path, const Words& launch_line = {}) {
    return import_deepspeed(path, {.overrides = kRun, .launch_line = launch_line});
  }

  static RunConfig config_of(const DeepSpeedImport& import) {
    EXPECT_THAT(import.refused, IsEmpty());
    EXPECT_THAT(import.needs, IsEmpty());
    return read_config(import.toml, "import.toml").config;
  }

  static std::string problem(const std::string& path, const Words& launch_line = {}) {
    try {
      import(path, launch_line);
    } catch (const Error& error) {
      return error.what();
    }
    return "no problem";
  }

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("zero-test-files-" + std::to_string(getpid()));
};

const char* kPlugin =
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
    "deepspeed_config:\n  zero_stage: 2\n  gradient_clipping: 1.0\n";

TEST_F(ImportFilesTest, ReadsAcceleratesConfigurationAsJsonToo) {
  write("acc.json", R"({"compute_environment": "LOCAL_MACHINE", "distributed_type": "DEEPSPEED",
      "deepspeed_config": {"zero_stage": 3, "offload_optimizer_device": "cpu"}, "debug": false,
      "mixed_precision": "bf16", "num_machines": 1, "num_processes": 2})");
  const DeepSpeedImport made = import("acc.json");
  EXPECT_EQ(config_of(made).zero.stage, 3);
  EXPECT_EQ(config_of(made).offload_optimizer.device, Home::cpu);
  EXPECT_THAT(made.report, Contains(HasSubstr("-n 2 ./zeroapp")));
  write("fsdp.json", R"({"distributed_type": "FSDP", "num_processes": 2,
                         "fsdp_config": {"fsdp_sharding_strategy": "SHARD_GRAD_OP"}})");
  EXPECT_EQ(config_of(import("fsdp.json")).zero.stage, 2);
  write("multi.json", R"({"distributed_type": "MULTI_GPU", "fp16": true, "num_processes": 2})");
  EXPECT_TRUE(config_of(import("multi.json")).fp16.enabled);
}

TEST_F(ImportFilesTest, FindsTheNamedFileFromTheWorkingFolderFirst) {
  const std::string named =
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
      "  deepspeed_config_file: ";
  write("configs/acc.yaml", named + "configs/ds.json\nnum_processes: 2\n");
  write("configs/ds.json", R"({"zero_optimization": {"stage": 2}})");
  EXPECT_EQ(config_of(import("configs/acc.yaml")).zero.stage, 2);
  write("configs/acc.yaml", named + "ds.json\nnum_processes: 2\n");
  EXPECT_EQ(config_of(import("configs/acc.yaml")).zero.stage, 2) << "or beside the configuration";
  write("ds.json", R"({"zero_optimization": {"stage": 1}})");
  EXPECT_EQ(config_of(import("configs/acc.yaml")).zero.stage, 1);
  write("configs/acc.yaml", named + "none\nnum_processes: 2\n");
  EXPECT_EQ(config_of(import("configs/acc.yaml")).zero.stage, 0);
  write("configs/acc.yaml", named + "absent.json\n");
  EXPECT_THAT(
      problem("configs/acc.yaml"),
      HasSubstr("configs/acc.yaml:3: deepspeed_config.deepspeed_config_file: absent.json is "
                "neither in the working folder nor beside configs/acc.yaml"));
}

TEST_F(ImportFilesTest, LooksAtNothingThatTheTypeDoesNotRead) {
  for (const char* type : {"'NO'", "NO", "MULTI_GPU", "FSDP"}) {
    write("acc.yaml", std::string("distributed_type: ") + type +
                          "\nnum_processes: 1\ndeepspeed_config:\n"
                          "  deepspeed_config_file: path/to/be/ignored\n  zero_stage: 1\n");
    const DeepSpeedImport made = import("acc.yaml");
    EXPECT_EQ(config_of(made).zero.stage, std::string(type) == "FSDP" ? 3 : 0) << type;
    EXPECT_THAT(made.report, Contains(HasSubstr("zero_stage = 1: nothing to set: Accelerate reads "
                                                "it with distributed_type: DEEPSPEED")));
  }
}

TEST_F(ImportFilesTest, ReadsOldSpellingsOfAccelerate) {
  const std::string type = "distributed_type: MULTI_GPU\nnum_processes: 2\n";
  write("acc.yaml", type + "fp16: true\n");
  EXPECT_TRUE(config_of(import("acc.yaml")).fp16.enabled);
  write("acc.yaml", type + "fp16: false\n");
  EXPECT_FALSE(config_of(import("acc.yaml")).fp16.enabled);
  write("acc.yaml", type + "fp16: true\nmixed_precision: bf16\n");
  EXPECT_TRUE(config_of(import("acc.yaml")).bf16.enabled) << "as Accelerate has it";
  write("acc.yaml", type + "dynamo_backend: 'NO'\ncommands: null\ntpu_env:\n- a\n");
  EXPECT_THAT(import("acc.yaml").refused, IsEmpty());
}

TEST_F(ImportFilesTest, LetsTheLaunchersFlagsWinOverItsConfiguration) {
  write("acc.yaml", kPlugin);
  const DeepSpeedImport made =
      import("acc.yaml", {"accelerate", "launch", "--config_file", "acc.yaml", "--num_processes=4",
                          "--zero_stage", "3", "--gradient_clipping", "0.5", "--mixed_precision",
                          "fp16", "--offload_param_device", "cpu", "train.py"});
  const RunConfig config = config_of(made);
  EXPECT_EQ(config.zero.stage, 3);
  EXPECT_EQ(config.gradient_clipping, 0.5);
  EXPECT_TRUE(config.fp16.enabled);
  EXPECT_FALSE(config.bf16.enabled);
  EXPECT_EQ(config.offload_param.device, Home::cpu);
  EXPECT_THAT(made.report, Contains(HasSubstr("-n 4 ./zeroapp")));
  EXPECT_THAT(made.report, Contains("acc.yaml:6: deepspeed_config.zero_stage = 2: left out: "
                                    "--zero_stage wins"));
  EXPECT_THAT(made.report, Contains("launch line: --zero_stage = 3: mapped to zero.stage"));
}

TEST_F(ImportFilesTest, LetsTheTypeOfTheLaunchLineWin) {
  write("acc.yaml", std::string(kPlugin) + "fsdp_config:\n  sharding_strategy: NO_SHARD\n");
  const DeepSpeedImport made = import(
      "acc.yaml",
      {"accelerate", "launch", "--use_fsdp", "--fsdp_sharding_strategy", "FULL_SHARD", "train.py"});
  EXPECT_EQ(config_of(made).zero.stage, 3);
  EXPECT_EQ(
      config_of(import("acc.yaml", {"accelerate", "launch", "--multi_gpu", "train.py"})).zero.stage,
      0);
}

TEST_F(ImportFilesTest, LetsTheTrainingsHalfTypeWinAsTransformersDoes) {
  write("acc.yaml", std::string(kPlugin));
  const RunConfig config = config_of(import("acc.yaml", {"train.py", "--fp16"}));
  EXPECT_TRUE(config.fp16.enabled);
  EXPECT_FALSE(config.bf16.enabled);
  EXPECT_TRUE(config_of(import("acc.yaml", {"train.py", "--fp16", "false"})).bf16.enabled);
  write("acc.yaml", std::string(kPlugin) + "fp16: true\n");
  const RunConfig both = config_of(import("acc.yaml", {"train.py", "--bf16"}));
  EXPECT_TRUE(both.bf16.enabled);
  EXPECT_FALSE(both.fp16.enabled) << "the older key yields to the newer one, which yields too";
  write("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\nfp16: true\n");
  EXPECT_FALSE(config_of(import("acc.yaml", {"train.py", "--bf16"})).fp16.enabled);
}

TEST_F(ImportFilesTest, FollowTheLaunchersFlagsBesideDeepSpeedsFile) {
  write("ds.json", R"({"bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto"})");
  const Words launch = {"accelerate",
                        "launch",
                        "--use_deepspeed",
                        "--zero_stage",
                        "3",
                        "--mixed_precision",
                        "bf16",
                        "--num_processes",
                        "4",
                        "--deepspeed_config_file",
                        "ds.json",
                        "train.py"};
  const DeepSpeedImport made = import("ds.json", launch);
  EXPECT_EQ(config_of(made).zero.stage, 3);
  EXPECT_TRUE(config_of(made).bf16.enabled);
  EXPECT_THAT(made.report, Contains(HasSubstr("-n 4 ./zeroapp")));
  write("ds.json", R"({"zero_optimization": {"stage": 2}})");
  EXPECT_THAT(import("ds.json", launch).refused,
              ElementsAre(AllOf(HasSubstr("ds.json:1: zero_optimization.stage: contradicts"),
                                HasSubstr("launch line"))));
}

TEST_F(ImportFilesTest, ReadsTheFileThatALaunchLineNamesBesideTheImportedOne) {
  write("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: bf16\n");
  write("ds.json", R"({"zero_optimization": {"stage": 2}})");
  const DeepSpeedImport made = import("acc.yaml", {"train.py", "--deepspeed", "ds.json"});
  EXPECT_EQ(config_of(made).zero.stage, 2);
  EXPECT_THAT(made.report, Contains(HasSubstr("MULTI_GPU\": left out: --deepspeed wins")));
  const DeepSpeedImport other =
      import("ds.json", {"accelerate", "launch", "--config_file", "acc.yaml", "train.py"});
  EXPECT_TRUE(config_of(other).bf16.enabled);
  EXPECT_EQ(config_of(other).zero.stage, 2);
  EXPECT_THAT(problem("acc.yaml", {"train.py", "--deepspeed", "no.json"}),
              HasSubstr("launch line: --deepspeed: no.json is neither in the working folder"));
  EXPECT_THAT(problem("ds.json", {"accelerate", "launch", "--config_file", "ds.json2", "a.py"}),
              HasSubstr("ds.json2 is neither"));
}

TEST_F(ImportFilesTest, WarnsOfAnotherNameThanThatOfTheImportedFile) {
  write("ds.json", "{}");
  const std::string warning =
      "warning: launch line: --deepspeed = \"a/zero3.json\": another name "
      "than that of ds.json, which is imported for it";
  EXPECT_THAT(import("ds.json", {"train.py", "--deepspeed", "a/zero3.json"}).report,
              Contains(warning));
  EXPECT_THAT(import("ds.json", {"train.py", "--deepspeed", "a/ds.json"}).report,
              Not(Contains(HasSubstr("another name"))));
}

TEST_F(ImportFilesTest, CountTheRanksOfEveryLauncher) {
  write("ds.json", "{}");
  const std::pair<Words, const char*> launches[] = {
      {{"deepspeed", "--num_gpus", "8", "--num_nodes=2", "a.py"}, "-n 16 --map-by ppr:8:node "},
      {{"torchrun", "--nproc-per-node=4", "a.py"}, "-n 4 ./zeroapp"},
      {{"accelerate", "launch", "--num_machines", "2", "--num_processes", "4", "a.py"},
       "-n 4 --map-by ppr:2:node "}};
  for (const auto& [words, ranks] : launches) {
    EXPECT_THAT(import("ds.json", words).report.back(), HasSubstr(ranks));
  }
  EXPECT_THAT(import("ds.json", {"a.py"}).report, Not(Contains(HasSubstr("launch: "))));
}

TEST_F(ImportFilesTest, AskForRanksThatALaunchDoesNotCount) {
  write("ds.json", "{}");
  for (const char* flag : {"--nproc_per_node=gpu", "--nnodes=1:4", "--nproc-per-node=0"}) {
    const DeepSpeedImport made = import("ds.json", {"torchrun", flag, "a.py"});
    EXPECT_THAT(made.report, Contains(AllOf(HasSubstr("warning: launch line: --n"),
                                            HasSubstr("needs the number of ranks"))))
        << flag;
    EXPECT_THAT(made.report.back(), HasSubstr("launch: mpirun")) << flag;
    EXPECT_THAT(made.report.back(), HasSubstr("-n RANKS ./zeroapp")) << flag;
  }
}

}  // namespace
}  // namespace zero
