// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {
namespace {

using ::testing::HasSubstr;
using testing_support::kSmallModel;
using testing_support::refusal_of;
using testing_support::TempFolder;
using testing_support::write_shard;

using checkpoint::Tensor;

/// A checkpoint whose parameters are all `weight`, and masters, where there are any, `master`.
class CheckpointModels : public ::testing::Test {
 protected:
  void save(std::map<std::string, std::string> facts, bool masters, int64_t rows = 10,
            const std::string& positions = "wpe.weight") {
    std::vector<checkpoint::SlicePlan> slices;
    for (auto& [name, shape] : stored_tensors(stored_graph({kSmallModel}))) {
      if (name == "wpe.weight") name = positions;
      Tensor tensor{.name = "model/transformer." + name, .dtype = Dtype::bf16, .shape = shape};
      if (name == "wte.weight") tensor.shape[0] = rows;
      slices.push_back(whole(tensor));
      tensor.name = "optimizer/master/transformer." + name;
      tensor.dtype = Dtype::f32;
      if (masters) slices.push_back(whole(tensor));
    }
    checkpoint::Store store({.root = root_, .writes = true});
    const std::string temporary = store.begin(5);
    const OpenFile folder(store.open_folder(temporary));
    checkpoint::Manifest manifest;
    manifest.step = 5;
    manifest.facts = std::move(facts);
    const auto written = write_shard(folder.descriptor(), "rank00000.h5", slices);
    manifest.files = {written.file};
    for (size_t i = 0; i < slices.size(); ++i) {
      manifest.tensors.push_back(slices[i].tensor);
      manifest.slices.push_back({int32_t(i), 0, 0, slices[i].numel, written.offsets[i]});
    }
    manifest.files.push_back(
        checkpoint::IndexStructure(manifest).write(folder.descriptor(), manifest));
    store.write_manifest(temporary, manifest);
    store.publish(temporary, 5);
  }
  static checkpoint::SlicePlan whole(const Tensor& tensor) {
    int64_t numel = 1;
    for (const int64_t extent : tensor.shape) numel *= extent;
    return {.tensor = tensor, .begin = 0, .numel = numel};
  }
  static std::map<std::string, std::string> facts(const std::string& tokenizer) {
    return {{"model", description_json(
                          {.model = kSmallModel, .compute = Dtype::bf16, .sequence_length = 4})},
            {"tokenizer", tokenizer},
            {"configuration", "[run]\n"}};
  }

  TempFolder place_{"checkpoint-model"};
  std::string root_ = place_.path() + "/checkpoints";
};

TEST_F(CheckpointModels, AreReadFromMastersWhereThereAreAny) {
  save(facts("data/words"), true);
  const CheckpointModel model(testing_support::catalogue(), place_.path());
  EXPECT_EQ(model.description().compute, Dtype::bf16);
  EXPECT_EQ(model.description().tokenizer, "data/words");
  EXPECT_EQ(model.dtype_of("wte.weight"), Dtype::f32);
  EXPECT_EQ(model.settings().text, "[run]\n");
  std::vector<float> row(3);
  model.read("wte.weight", 77, row);
  EXPECT_THAT(row, ::testing::ElementsAre(19.25f, 19.5f, 19.75f));
}

TEST_F(CheckpointModels, SayOfGenerationWhatTheRunsOwnKeysLeaveOpen) {
  std::map<std::string, std::string> said = facts("bytes");
  said["configuration"] = "[generation]\nnum_beams = 4\n";
  said["generation"] = R"({"num_beams": 2, "repetition_penalty": 1.5})";
  save(std::move(said), false);
  const CheckpointModel model(testing_support::catalogue(), place_.path());
  EXPECT_EQ(model.description().generation,
            (GenerationConfig{.num_beams = 4, .repetition_penalty = 1.5}));
  EXPECT_EQ(model.settings().generation,
            (GenerationConfig{.num_beams = 2, .repetition_penalty = 1.5}))
      << "to which num_beams = \"auto\" comes";
}

TEST_F(CheckpointModels, AreReadFromWeightsAlone) {
  save(facts("bytes"), false);
  const CheckpointModel model(testing_support::catalogue(), place_.path());
  EXPECT_EQ(model.dtype_of("wte.weight"), Dtype::bf16);
  EXPECT_EQ(model.description().tokenizer, "") << "tokens of a file that brings its own";
  std::vector<float> row(1);
  model.read("ln_f.bias", 7, row);
  EXPECT_EQ(row[0], 1.75f);
}

TEST_F(CheckpointModels, OfAnotherModelThanTheySayAreRefused) {
  save(facts("bytes"), false, 11);
  EXPECT_THAT(
      refusal_of(Exit::kInput,
                 [&] { CheckpointModel open(testing_support::catalogue(), place_.path()); }),
      HasSubstr("wte.weight: expected [10, 8], found [11, 8]"));
}

TEST_F(CheckpointModels, MayMisshapeWhatATrainingDrawsAnew) {
  save(facts("bytes"), true, 11);
  RunConfig training = testing_support::unset_config();
  EXPECT_THAT(
      refusal_of(Exit::kInput,
                 [&] { CheckpointModel(testing_support::catalogue(), place_.path(), &training); }),
      HasSubstr("found [11, 8]; write model.reinit = [\"wte.*\"] to draw it anew"));
  training.model.reinit = {"wte.*"};
  const CheckpointModel model(testing_support::catalogue(), place_.path(), &training);
  EXPECT_THAT(model.anew(), ::testing::ElementsAre("wte.weight"));
}

TEST_F(CheckpointModels, MayLackWhatATrainingDrawsAnewAndHoldOtherHeads) {
  save(facts("bytes"), false, 10, "score.weight");
  RunConfig training = testing_support::unset_config();
  EXPECT_THAT(
      refusal_of(Exit::kInput,
                 [&] { CheckpointModel(testing_support::catalogue(), place_.path(), &training); }),
      HasSubstr("holds no wpe.weight; write model.reinit = [\"wpe.*\"] to draw it anew"));
  training.model.reinit = {"wpe.*"};
  const CheckpointModel model(testing_support::catalogue(), place_.path(), &training);
  EXPECT_THAT(model.anew(), ::testing::ElementsAre("wpe.weight"));
  EXPECT_THAT(model.other_heads(), ::testing::ElementsAre("score.weight"));
}

TEST_F(CheckpointModels, ThatSayNothingAreRefused) {
  save({}, false);
  EXPECT_THAT(
      refusal_of(Exit::kInput,
                 [&] { CheckpointModel open(testing_support::catalogue(), place_.path()); }),
      HasSubstr("does not say what model"));
}

}  // namespace
}  // namespace zero::stored
