// Ranks: 1
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/model/gpt2.hpp"
#include "tests/support/models.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/base/error.hpp"
#include "zero/models/model_folder.hpp"
#include "zero/models/stored_model.hpp"

namespace zero::models {
namespace {

namespace fs = std::filesystem;

constexpr model::Gpt2 kModel{
    .layers = 1, .width = 8, .heads = 2, .vocabulary = 256, .positions = 16};

/// A run's folder with a model in it, and settings if there are any.
class StoredRun : public ::testing::Test {
 protected:
  StoredRun() : run_(fs::temp_directory_path() / ("zero-stored-" + std::to_string(getpid()))) {
    fs::create_directories(run_ / "model");
    describe("bytes");
    const auto tensors = stored_tensors(
        model::gpt2(kModel, {.micro = {1, 1}, .compute = Dtype::f32, .training = false}));
    SafetensorsWriter writer((run_ / "model/model.safetensors").string(), {.tensors = tensors});
    for (const SafetensorsWriter::Tensor& tensor : tensors) {
      int64_t bytes = 4;
      for (int64_t extent : tensor.shape) bytes *= extent;
      writer.write(std::vector<std::byte>(size_t(bytes)));
    }
    writer.publish();
  }
  ~StoredRun() override { fs::remove_all(run_); }

  void describe(const std::string& tokenizer) const {
    write("model/config.json", description_json({.model = kModel,
                                                 .compute = Dtype::bf16,
                                                 .tokenizer = tokenizer,
                                                 .sequence_length = 8,
                                                 .evaluation_micro = 3}));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(run_ / name) << text;
  }
  void settings(const std::string& text) const { std::ofstream(run_ / "effective.toml") << text; }
  RunConfig config(const std::vector<std::string>& overrides) const {
    return evaluation_config(testing_support::catalogue().models,
                             ModelFolder(testing_support::catalogue(), (run_ / "model").string()),
                             overrides);
  }
  Exit refused(const std::vector<std::string>& overrides) const {
    try {
      config(overrides);
    } catch (const Error& error) {
      return error.exit();
    }
    return Exit::kFinished;
  }

  fs::path run_;
};

const std::string kSettings =
    "train_batch_size = 12\ntrain_micro_batch_size_per_gpu = 2\n[model]\nlayers = 1\nwidth = 8\n"
    "heads = 2\nmax_positions = 16\n[data]\ntrain = \"a.txt\"\nvalidation_fraction = 0.1\n"
    "sequence_length = 16\n[run]\nsteps = 3\n[bf16]\nenabled = true\n[zero]\nstage = 3\n";

TEST_F(StoredRun, WithoutSettingsTheModelSaysThem) {
  const RunConfig found = config({"data.validation=b.txt"});
  EXPECT_TRUE(found.bf16.enabled);
  EXPECT_EQ(found.data.validation, "b.txt");
  EXPECT_EQ(found.data.sequence_length, 8);
  EXPECT_EQ(found.evaluation.micro_batch_size, 3);
  EXPECT_EQ(config({"data.validation=b.txt", "data.sequence_length=4"}).data.sequence_length, 4);
  EXPECT_EQ(config({"data.train=a.txt", "data.validation_fraction=0.5"}).data.train, "a.txt");
  EXPECT_FALSE(config({"data.validation=b.txt", "bf16.enabled=false"}).bf16.enabled);
}

TEST_F(StoredRun, SettingsOfTheRunComeFirst) {
  settings(kSettings);
  const RunConfig found = config({});
  EXPECT_EQ(found.data.train, "a.txt");
  EXPECT_EQ(found.data.sequence_length, 16);
  EXPECT_EQ(found.zero.stage, 3);
  EXPECT_EQ(found.evaluation.micro_batch_size, 3) << "the run's, whatever its batch was";
  EXPECT_EQ(found.train_micro_batch_size_per_gpu, 1) << "nothing is trained";
  EXPECT_EQ(config({"evaluation.micro_batch_size=5"}).evaluation.micro_batch_size, 5);
}

TEST_F(StoredRun, ATokenizerThatIsGoneIsTheOneBesideTheModel) {
  describe("elsewhere");
  for (const char* name : {"model/vocab.json", "model/merges.txt"}) write(name, "");
  const std::string model = (run_ / "model").string(), there = run_.string();
  const std::string named = "[data]\ntokenizer = ";
  const auto with = [&](const std::string& tokenizer) {
    std::string text = kSettings;
    settings(text.replace(text.find("[data]\n"), 7, named + "\"" + tokenizer + "\"\n"));
  };
  with("/nonexistent/tokenizer");
  EXPECT_EQ(config({}).data.tokenizer, model);
  EXPECT_EQ(config({"data.tokenizer=" + there}).data.tokenizer, there);
  with(there);
  EXPECT_EQ(config({}).data.tokenizer, there) << "which is still there";
}

TEST_F(StoredRun, WhatIsOpenOfGenerationTheModelSays) {
  write("model/generation_config.json", "{\"num_beams\": 4, \"max_length\": 30}");
  EXPECT_EQ(config({"data.validation=b.txt"}).generation,
            (GenerationConfig{.max_length = 30, .num_beams = 4}));
  settings(kSettings + "[generation]\nnum_beams = 2\n");
  EXPECT_EQ(config({"generation.max_new_tokens=9"}).generation,
            (GenerationConfig{.max_new_tokens = 9, .num_beams = 2}));
  EXPECT_EQ(refused({"generation.do_sample=true"}), Exit::kUsage) << "beams draw nothing";
}

TEST_F(StoredRun, HowGradientsTravelledForbidsNoComputeType) {
  settings("communication_data_type = \"bf16\"\n" + kSettings);
  EXPECT_FALSE(config({"bf16.enabled=false"}).bf16.enabled);
}

TEST_F(StoredRun, NoBucketForbidsARankCount) {
  settings(kSettings + "reduce_bucket_size = 2\nallgather_bucket_size = 2\n");
  EXPECT_EQ(config({}).zero.reduce_bucket_size, comm::kMostRanks);
  EXPECT_EQ(config({}).zero.allgather_bucket_size, comm::kMostRanks);
}

TEST_F(StoredRun, AFileNamedNowTakesThePlaceOfWhatWasHeldOut) {
  settings(kSettings);
  const RunConfig found = config({"data.validation=b.txt"});
  EXPECT_EQ(found.data.validation, "b.txt");
  EXPECT_EQ(found.data.validation_fraction, 0);
  EXPECT_EQ(refused({"data.validation=b.txt", "data.validation_fraction=0.5"}), Exit::kUsage);
}

TEST_F(StoredRun, WhatCannotBeEvaluatedIsRefused) {
  EXPECT_EQ(refused({}), Exit::kUsage) << "no validation data";
  EXPECT_EQ(refused({"data.validation=b.txt", "data.validatio=b.txt"}), Exit::kUsage);
  settings(kSettings);
  EXPECT_EQ(refused({}), Exit::kFinished);
  EXPECT_EQ(refused({"model.layers=2"}), Exit::kInput) << "another model than the stored one";
}

}  // namespace
}  // namespace zero::models
