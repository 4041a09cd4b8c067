// Ranks: 1

#include "zero/config/read_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/tree_folder.hpp"
#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kRequired =
    "model.name = \"gpt2\"\ndata.train = \"t.txt\"\nrun.steps = 10\n";  // lines 1 to 3

RunConfig config_of(const std::string& more, std::vector<std::string> overrides = {}) {
  return read_config(kRequired + more, "in.toml", overrides).config;
}

/// The error of the required keys and, from line 4, `more`.
std::string said_of(const std::string& more, std::vector<std::string> overrides = {}) {
  try {
    config_of(more, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    return error.what();
  }
  return "no error";
}

std::string inputs(const std::string& name) {
  return (testing_support::tree_folder() / "inputs" / name).string();
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(ReferenceInput, ReadsAsTheDefaults) {
  RunConfig defaults = testing_support::unset_config();
  fields_of(defaults);
  defaults.model.name = "gpt2";
  defaults.data.train = "synthetic";
  defaults.run.steps = 100;
  defaults.run.output = "runs/reference";
  EXPECT_TRUE(read_config_file(inputs("reference.toml")).config == defaults);
}

TEST(ReferenceInput, ListsEveryKeyOnceAtItsDefaultAndNoOther) {
  RunConfig config = testing_support::unset_config();
  std::map<std::string, std::string> defaults, listed;
  for (const Field& field : fields_of(config)) {
    EXPECT_TRUE(defaults.emplace(field.key, to_text(value_of(field))).second) << field.key;
  }
  for (const TomlEntry& entry : parse_toml(content(inputs("reference.toml"))).entries) {
    listed[entry.key] = entry.key;
  }
  for (const auto& [key, value] : defaults) EXPECT_TRUE(listed.count(key)) << key << " = " << value;
  EXPECT_EQ(listed.size(), defaults.size());
}

TEST(Inputs, AllRead) {
  EXPECT_EQ(read_config_file(inputs("gpt2_nano.toml")).config.zero.stage, 3);
  EXPECT_EQ(read_config_file(inputs("gpt2_124m.toml")).config.train_batch_size, 512);
  const RunConfig medium = read_config_file(inputs("gpt2_1.5b.toml")).config;
  EXPECT_EQ(medium.zero.reduce_bucket_size, 500'000'000);
  const RunConfig large = read_config_file(inputs("gpt2_10b.toml")).config;
  EXPECT_TRUE(large.fp16.enabled);
  EXPECT_EQ(large.recompute.mode, Recompute::Mode::full);
  for (const char* pairs : {"t5_mini", "t5_large_en_ro", "t5_3b_en_ro", "blenderbot_400m"})
    EXPECT_GT(read_config_file(inputs(text(pairs, ".toml"))).config.data.source_length, 0);
  for (const char* labelled : {"deberta_mini", "deberta_xlarge_mrpc"})
    EXPECT_LE(read_config_file(inputs(text(labelled, ".toml"))).config.data.sequence_length, 128);
  for (const char* one : {"decoder_mini", "smollm2_135m", "llama3_2_1b", "llama3_1_8b", "qwen3_8b"})
    EXPECT_EQ(read_config_file(inputs(text(one, ".toml"))).config.zero.stage % 3, 0);
}

TEST(ReadConfig, FillsMembersAndKeepsOtherDefaults) {
  const RunConfig config = config_of(
      "[zero]\nstage = 2\nreduce_bucket_size = 5e8\n[memory]\ndevice_limit = \"24GiB\"\n"
      "[activation_checkpointing]\nrecompute = [0, 2]\n[optimizer]\nbetas = [0.8, 0.5]\nlr = 1\n");
  EXPECT_EQ(config.zero.stage, 2);
  EXPECT_EQ(config.zero.reduce_bucket_size, 500'000'000);
  EXPECT_EQ(config.memory.device_limit, int64_t(24) << 30);
  EXPECT_THAT(config.recompute.layers, ::testing::ElementsAre(0, 2));
  EXPECT_EQ(config.optimizer.betas[1], 0.5);
  EXPECT_EQ(config.optimizer.lr, 1.0);
  EXPECT_EQ(config.optimizer.eps, 1e-8);
}

TEST(ReadConfig, NamesTheOutputAfterTheInputFile) {
  EXPECT_EQ(config_of("").run.output, "runs/in");
  EXPECT_EQ(config_of("run.output = \"x\"").run.output, "x");
}

TEST(ReadConfig, TellsAMisspeltKeyFromItsNeighbour) {
  EXPECT_EQ(said_of("zero.stag = 1"),
            "in.toml:4: zero.stag: no such key; did you mean zero.stage?");
  EXPECT_THAT(said_of("zero_optimization.stage = 1"), HasSubstr("did you mean zero.stage?"));
  EXPECT_THAT(said_of("lr = 1"), HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(said_of("[optimizer]\nbteas = 1"), HasSubstr("did you mean optimizer.betas?"));
  EXPECT_THAT(said_of("quux = 1"), HasSubstr("inputs/reference.toml lists every key"));
}

TEST(ReadConfig, RefusesTheWrongTypeAndSaysTheRightOne) {
  EXPECT_EQ(said_of("fp16.enabled = \"true\""),
            "in.toml:4: fp16.enabled: \"true\" is a string; write true or false, without quotes");
  EXPECT_THAT(said_of("zero.stage = true"), HasSubstr("true is a boolean; write an integer"));
  EXPECT_THAT(said_of("zero.stage = 1.5"), HasSubstr("1.5 is a number; write an integer"));
  EXPECT_THAT(said_of("optimizer.lr = \"1e-3\""), HasSubstr("write a number, without quotes"));
  EXPECT_THAT(said_of("optimizer.betas = 0.9"), HasSubstr("[0.9, 0.999]"));
  EXPECT_THAT(said_of("optimizer.betas = [0.9, 1.0]"), HasSubstr("0 to below 1"));
  EXPECT_THAT(said_of("data.validation = 3"), HasSubstr("3 is an integer; write a string"));
  EXPECT_THAT(said_of("memory.host_limit = \"24GB\""), HasSubstr("\"24GiB\""));
  EXPECT_THAT(said_of("activation_checkpointing.recompute = [2, 1]"), HasSubstr("ascending"));
  EXPECT_THAT(said_of("activation_checkpointing.recompute = \"some\""), HasSubstr("\"selective\""));
}

TEST(ReadConfig, RefusesValuesOutOfRangeAndNamesTheRange) {
  EXPECT_EQ(said_of("zero.stage = 4"), "in.toml:4: zero.stage: 4 is out of range; write 0 to 3");
  EXPECT_THAT(said_of("model.dropout = 1.0"), HasSubstr("write 0 to below 1"));
  // Which is 1 in fp32.
  EXPECT_THAT(said_of("model.dropout = 0.9999999999999999"), HasSubstr("write 0 to below 1"));
  EXPECT_THAT(said_of("optimizer.eps = 0"), HasSubstr("write above 0 to 1"));
  EXPECT_THAT(said_of("train_batch_size = 0"), HasSubstr("or \"auto\""));
  EXPECT_THAT(said_of("run.log_interval = 0"), HasSubstr("write 1 or more"));
  EXPECT_THAT(said_of("optimizer.type = \"Muon\""), HasSubstr("\"AdamW\", \"Adam\", \"LAMB\""));
  EXPECT_THAT(said_of("communication_data_type = \"fp16\""), HasSubstr("overflow in fp16"));
}

TEST(ReadConfig, AcceptsOfAFixedKeyOnlyWhatIsDone) {
  EXPECT_EQ(said_of("zero.contiguous_gradients = true\nzero.sub_group_size = 1e9"), "no error");
  EXPECT_THAT(said_of("zero.contiguous_gradients = false"),
              HasSubstr("false is not done: gradients"));
  EXPECT_EQ(said_of("zero.contiguous_gradients = 1"),
            "in.toml:4: zero.contiguous_gradients: 1 is an integer: gradients always lie in one "
            "planned buffer; write true");
  EXPECT_THAT(said_of("zero.contiguous_gradients = \"true\""),
              HasSubstr("\"true\" is a string (remove the quotes): gradients"));
  EXPECT_THAT(said_of("zero.cpu_offload = true"), HasSubstr("zero.offload_optimizer.device"));
  EXPECT_THAT(said_of("[zero.offload_optimizer]\nfast_init = true"), HasSubstr("written once"));
  EXPECT_EQ(said_of("activation_checkpointing.contiguous_memory_optimization = true"), "no error");
}

TEST(ReadConfig, ExplainsAFixedKeyWhateverTheNumberIsWrittenAs) {
  const std::string cut = " is not done: another key cuts weights within groups";
  EXPECT_THAT(said_of("zero.mics_shard_size = 100000000"), HasSubstr("100000000" + cut));
  EXPECT_THAT(said_of("zero.mics_shard_size = 1e8"), HasSubstr("1e+08" + cut));
  EXPECT_THAT(said_of("gradient_predivide_factor = 2"), HasSubstr("2 is not done: sums of"));
  EXPECT_EQ(said_of("gradient_predivide_factor = 1\nzero.mics_shard_size = -1.0"), "no error");
}

TEST(ReadConfig, CollectsEveryErrorInTheOrderOfTheFile) {
  EXPECT_EQ(said_of("zero.stage = 7\nfoo bar\nzero.stgae = 1\n", {"run.seed=-1"}),
            "in.toml:4: zero.stage: 7 is out of range; write 0 to 3\n"
            "in.toml:5: foo: key = value wants =\n"
            "in.toml:6: zero.stgae: no such key; did you mean zero.stage?\n"
            "command line: run.seed: -1 is out of range; write 0 or more");
}

TEST(ReadConfig, NamesWhatIsMissing) {
  try {
    read_config("", "in.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("in.toml: data.train: missing"));
    EXPECT_THAT(error.what(), HasSubstr("in.toml: run.steps: missing"));
    EXPECT_THAT(error.what(), HasSubstr("in.toml: model.name: the model has no size"));
  }
}

TEST(ReadConfig, OverridesReplaceTheFileAndAreStringsWhereTheyAreNoToml) {
  const RunConfig config =
      config_of("zero.stage = 1", {"zero.stage=3", "optimizer.type=LAMB", "data.train=a/b.txt"});
  EXPECT_EQ(config.zero.stage, 3);
  EXPECT_EQ(config.optimizer.type, OptimizerType::LAMB);
  EXPECT_EQ(config.data.train, "a/b.txt");
}

TEST(ReadConfig, LocatesErrorsOfOverridesOnTheCommandLine) {
  EXPECT_EQ(said_of("", {"zero.stage=x"}),
            "command line: zero.stage: \"x\" is a string; write an integer");
  EXPECT_THAT(said_of("", {"zero.stage"}), HasSubstr("is not section.key=value"));
  EXPECT_THAT(said_of("", {"zero.stage=1", "zero.stage=2"}), HasSubstr("stands twice"));
  EXPECT_THAT(said_of("", {"data.train=\"x"}), HasSubstr("not closed"));
  EXPECT_THAT(said_of("", {"zer.stage=1"}), HasSubstr("command line: zer.stage: no such key"));
}

TEST(ReadConfig, RefusesPairsThatCannotWorkAtTheOneWrittenLast) {
  EXPECT_EQ(said_of("fp16.enabled = true\nbf16.enabled = true"),
            "in.toml:5: bf16.enabled: fp16 and bf16 exclude each other; set one of them to false");
  EXPECT_THAT(said_of("bf16.enabled = true", {"fp16.enabled=true"}),
              HasSubstr("command line: fp16.enabled: "));
  EXPECT_THAT(said_of("model.layers = 2"), HasSubstr("4: model.layers: model.name = \"gpt2\""));
  EXPECT_THAT(said_of("run.stop_at = 11"), HasSubstr("write at most 10"));
  EXPECT_THAT(said_of("data.sequence_length = 2048"), HasSubstr("sequence_length = 1024 or less"));
  EXPECT_THAT(said_of("activation_checkpointing.recompute = [12]"), HasSubstr("at most 11"));
  EXPECT_THAT(said_of("data.validation = \"v\"\ndata.validation_fraction = 0.5"),
              HasSubstr("one place"));
  EXPECT_THAT(said_of("data.validation = \"v\"", {"data.train=synthetic"}),
              HasSubstr("for measurement"));
  EXPECT_THAT(said_of("data.tokenizer = \"\""), HasSubstr("tokenizer.json, with vocab.json"));
  EXPECT_THAT(said_of("scheduler.type = \"WarmupDecayLR\"\nscheduler.total_num_steps = 5"),
              HasSubstr("\"auto\" or at least 10"));
}

TEST(ReadConfig, WantsExactlyOneOfStepsAndEpochs) {
  const RunConfig config = config_of("run.epochs = 2", {"run.steps=0"});
  EXPECT_EQ(config.run.steps, 0);
  EXPECT_EQ(config.run.epochs, 2);
  EXPECT_THAT(said_of("run.epochs = 2"), HasSubstr("in.toml:4: run.epochs: the training ends"));
  EXPECT_THAT(said_of("", {"run.steps=0"}), HasSubstr("command line: run.steps: missing"));
}

TEST(ReadConfig, ReadsWalltimeAsAClockOrSeconds) {
  EXPECT_EQ(config_of("run.walltime = \"01:02:03\"").run.walltime, 3723);
  EXPECT_EQ(config_of("", {"run.walltime=100:00:00"}).run.walltime, 360'000);
  EXPECT_EQ(config_of("run.walltime = 90").run.walltime, 90);
  for (const char* wrong : {"\"90\"", "\"1:2:3\"", "\"00:60:00\"", "\"00:00:60\"", "\"-1:00:00\"",
                            "\"00:00:00:00\"", "\"\"", "-1", "1e9", "1.5", "true"}) {
    EXPECT_THAT(said_of(text("run.walltime = ", wrong)), HasSubstr("write \"HH:MM:SS\"")) << wrong;
  }
}

TEST(ReadConfig, KeepsTheLargestMicroBatchAsAWord) {
  const RunConfig config = config_of("train_micro_batch_size_per_gpu = \"max\"");
  EXPECT_EQ(config.train_micro_batch_size_per_gpu, kMicroBatchMax);
  EXPECT_THAT(said_of("train_micro_batch_size_per_gpu = -1"), HasSubstr("or \"max\""));
  EXPECT_THAT(said_of("gradient_accumulation_steps = \"max\""), HasSubstr("write an integer"));
}

TEST(ReadConfig, TakesTwoNamesOfOneSettingIfTheyAgree) {
  EXPECT_EQ(config_of("steps_per_print = 7").run.log_interval, 7);
  EXPECT_EQ(config_of("steps_per_print = 7\nrun.log_interval = 7").run.log_interval, 7);
  EXPECT_EQ(said_of("run.log_interval = 6\nsteps_per_print = 7"),
            "in.toml:5: steps_per_print: 7 contradicts run.log_interval = 6, which is the same "
            "setting; keep one");
  EXPECT_THAT(said_of("", {"steps_per_print=7", "run.log_interval=6"}),
              HasSubstr("command line: run.log_interval: 6 contradicts steps_per_print = 7"));
  EXPECT_EQ(config_of("run.log_interval = 6", {"steps_per_print=7"}).run.log_interval, 7);
  EXPECT_THAT(said_of("steps_per_print = 0"), HasSubstr("out of range"));
}

TEST(ReadConfig, RefusesALeastLossScaleAboveTheFirst) {
  const std::string fp16 = "[fp16]\nenabled = true\ninitial_scale_power = 3\n";
  EXPECT_EQ(said_of(fp16 + "min_loss_scale = 8"), "no error");
  EXPECT_EQ(said_of(fp16 + "min_loss_scale = 9"),
            "in.toml:7: fp16.min_loss_scale: the least loss scale, 9, is above the first, 8; write "
            "min_loss_scale = 8 or less");
  EXPECT_THAT(said_of("fp16.enabled = true\nfp16.min_loss_scale = 1e6"),
              HasSubstr("above the first, 65536"));
}

TEST(ReadConfig, CountsBadStepsUnlessTheLossScaleIsDynamic) {
  const std::string counted = "numerics.max_bad_steps = 3\n";
  EXPECT_EQ(said_of(counted), "no error");
  EXPECT_EQ(said_of(counted + "bf16.enabled = true"), "no error");
  EXPECT_EQ(said_of(counted + "fp16.enabled = true\nfp16.loss_scale = 128"), "no error");
  EXPECT_THAT(said_of(counted + "fp16.enabled = true"),
              HasSubstr("4: numerics.max_bad_steps: 3 has no effect"));
}

TEST(ReadConfig, ChecksAModelGivenByNumbers) {
  const std::string model = "model.layers = 2\nmodel.width = 30\nmodel.heads = 4\n";
  EXPECT_THAT(said_of(model, {"model.name="}), HasSubstr("does not divide into 4 heads"));
  EXPECT_EQ(said_of(model, {"model.name=", "model.width=32"}), "no error");
  EXPECT_THAT(said_of("", {"model.name=gpt2_10"}), HasSubstr("did you mean \"gpt2_10b\"?"));
  EXPECT_THAT(said_of("", {"model.name=bert-base"}), HasSubstr("write one of gpt2, "));
}

TEST(ReadConfig, RefusesAKeyWithoutEffectInOnePlaceAndWarnsAcrossTwo) {
  EXPECT_EQ(said_of("zero.stage3_max_live_parameters = 5"),
            "in.toml:4: zero.stage3_max_live_parameters: 5 has no effect: it acts only with "
            "zero.stage = 3; remove it or write that");
  const std::string file = kRequired + "zero.stage = 3\nzero.stage3_max_live_parameters = 5";
  const std::vector<std::string> overrides = {"zero.stage=1"};
  const ConfigInput input = read_config(file, "in.toml", overrides);
  ASSERT_EQ(input.warnings.size(), 1u);
  EXPECT_THAT(input.warnings[0], HasSubstr("in.toml:5: zero.stage3_max_live_parameters: "));
  EXPECT_TRUE(read_config(file, "in.toml").warnings.empty());
}

TEST(ReadConfig, WarnsOfALegalValueThatChangesNothing) {
  const std::string file = kRequired + "zero3_init_flag = false\n";
  const ConfigInput input = read_config(file, "in.toml");
  ASSERT_EQ(input.warnings.size(), 1u);
  EXPECT_EQ(input.warnings[0],
            "in.toml:4: zero3_init_flag: false changes nothing: at stage 3 weights are born in "
            "shards; write true");
  const Words asked = {"zero3_init_flag=true"};
  EXPECT_TRUE(read_config(file, "in.toml", asked).warnings.empty()) << "the last word counts";
  EXPECT_EQ(read_config(kRequired, "in.toml", Words{"zero3_init_flag=false"}).warnings.size(), 1u);
}

/// What locate() makes of a refusal of these keys.
std::string located(const std::string& more, const Words& overrides, const Words& keys) {
  const ConfigInput input = read_config(kRequired + more, "in.toml", overrides);
  return testing_support::refusal_of(Exit::kUsage, [&] {
    input.locate([&] { refuse_settings(keys, "cannot be on ", 3, " ranks"); });
  });
}

TEST(Locate, PutsThePlaceOfTheKeyWrittenLastInFront) {
  const Words keys = {"zero.stage", "run.seed"};
  EXPECT_EQ(located("zero.stage = 1\nrun.seed = 2", {}, keys),
            "in.toml:5: run.seed: cannot be on 3 ranks");
  EXPECT_EQ(located("run.seed = 2\nzero.stage = 1", {}, keys),
            "in.toml:5: zero.stage: cannot be on 3 ranks");
  EXPECT_EQ(located("run.seed = 2", {"zero.stage=1"}, keys),
            "command line: zero.stage: cannot be on 3 ranks");
  EXPECT_EQ(located("run.seed = 2", {"zero.stage=1", "run.seed=3"}, keys),
            "command line: run.seed: cannot be on 3 ranks");
  EXPECT_EQ(located("run.seed = 2", {}, keys), "in.toml:4: run.seed: cannot be on 3 ranks");
}

TEST(Locate, NamesTheFileAloneOfKeysThatStandNowhere) {
  EXPECT_EQ(located("", {}, {"zero.stage", "run.seed"}),
            "in.toml: zero.stage: cannot be on 3 ranks");
}

TEST(Locate, LeavesOtherErrorsAlone) {
  const ConfigInput input = read_config(kRequired, "in.toml");
  EXPECT_EQ(testing_support::refusal_of(Exit::kIo,
                                        [&] { input.locate([] { refuse(Exit::kIo, "disk"); }); }),
            "disk");
}

TEST(ReadConfig, AKeyAtItsDefaultIsNeverWithoutEffect) {
  EXPECT_EQ(said_of("optimizer.max_coeff = 10.0\nfp16.hysteresis = 2"), "no error");
  EXPECT_THAT(said_of("optimizer.max_coeff = 9.0"), HasSubstr("optimizer.type = \"LAMB\""));
  EXPECT_THAT(said_of("fp16.hysteresis = 3"), HasSubstr("fp16.enabled = true"));
  EXPECT_THAT(said_of("optimizer.adam_w_mode = false"), HasSubstr("optimizer.type = \"Adam\""));
  EXPECT_THAT(said_of("scheduler.warmup_num_steps = 9"), HasSubstr("scheduler.type"));
  EXPECT_THAT(said_of("evaluation.interval = 9"), HasSubstr("data.validation"));
}

TEST(ReadConfig, WarnsOfAWarmUpLongerThanTheSchedule) {
  const ConfigInput input = read_config(
      kRequired + "scheduler.type = \"WarmupDecayLR\"\nscheduler.warmup_num_steps = 40", "in.toml");
  ASSERT_EQ(input.warnings.size(), 1u);
  EXPECT_THAT(input.warnings[0],
              HasSubstr("in.toml:5: scheduler.warmup_num_steps: the warm-up of 40"));
}

std::string refusal_of_file(const std::string& path) {
  return testing_support::refusal_of(Exit::kUsage, [&] { read_config_file(path); });
}

TEST(ReadConfig, RefusesAFileThatIsMissingOrAFolderOrTooLong) {
  EXPECT_THAT(refusal_of_file("/nonexistent.toml"), HasSubstr("such as inputs/gpt2_nano.toml"));
  EXPECT_THAT(refusal_of_file("/tmp"), HasSubstr("/tmp: is a folder; name an input file in it"));
  EXPECT_THAT(refusal_of_file(inputs("gpt2_nan.toml")), EndsWith("inputs/gpt2_nano.toml?"));
  EXPECT_THROW(read_config(std::string(70000, '\n'), "in.toml"), Error);
}

TEST(ReadConfig, SurvivesAFileOfNothingButUnknownKeys) {
  std::string text;
  for (int i = 0; text.size() + 12 < kTomlMaxBytes; ++i) text += zero::text("k", i, "=1\n");
  EXPECT_THROW(read_config(text, "in.toml"), Error);
}

/// The values of DeepSpeed's articles, flat: none is refused.
TEST(ReadConfig, AcceptsTheSettingsOfTheArticles) {
  const std::string stage2 =
      "gradient_accumulation_steps = \"auto\"\ntrain_batch_size = \"auto\"\ngradient_clipping = "
      "1.0\n"
      "[zero]\nstage = 2\nallgather_partitions = true\nallgather_bucket_size = 2e8\n"
      "overlap_comm = true\nreduce_scatter = true\nreduce_bucket_size = 2e8\n"
      "contiguous_gradients = true\n[fp16]\nenabled = true\nloss_scale = 0\n"
      "loss_scale_window = 1000\ninitial_scale_power = 15\nhysteresis = 2\nmin_loss_scale = 1\n"
      "[optimizer]\ntype = \"Adam\"\nadam_w_mode = true\nlr = 3e-5\nweight_decay = 3e-7\n"
      "[scheduler]\ntype = \"WarmupLR\"\n";
  EXPECT_EQ(said_of(stage2), "no error");
  const std::string stage3 =
      "[zero]\nstage = 3\nsub_group_size = 1e9\nstage3_max_live_parameters = 1e9\n"
      "stage3_max_reuse_distance = 1e9\noverlap_comm = true\ncontiguous_gradients = true\n";
  EXPECT_EQ(said_of(stage3), "no error");
}

}  // namespace
}  // namespace zero
