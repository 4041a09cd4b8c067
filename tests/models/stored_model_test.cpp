// Ranks: 1

#include "zero/models/stored_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/models/model_folder.hpp"
#include "zero/state/checkpoint_layout.hpp"

namespace zero::models {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace testing_support;

class StoredModels : public ::testing::Test {
 protected:
  std::string folder(const std::string& name) const { return place_.path() + "/" + name; }
  void write(const std::string& name) const {
    write_small_model(small_options(folder(name), Dtype::f32));
  }
  TempFolder place_{"stored-model"};
};

TEST_F(StoredModels, AreFoundInARunItsCheckpointsOrOneOfThem) {
  write("model");
  EXPECT_EQ(find_model(testing_support::catalogue(), folder("model")), folder("model"));
  EXPECT_EQ(find_model(testing_support::catalogue(), place_.path()), folder("model"))
      << "a run with model/";
  import_model(ModelFolder(testing_support::catalogue(), folder("model")),
               folder("run/checkpoints"), "a test");
  const std::string step = folder("run/checkpoints/step00000000");
  for (const char* place :
       {"run", "run/checkpoints", "run/checkpoints/step00000000", "run/checkpoints/latest"}) {
    EXPECT_TRUE(fs::equivalent(find_model(testing_support::catalogue(), folder(place)), step))
        << place;
    EXPECT_EQ(weights_of(*open_model(testing_support::catalogue(),
                                     find_model(testing_support::catalogue(), folder(place)))),
              small_weights())
        << place;
  }
  fs::rename(folder("model"), folder("run/model"));
  EXPECT_EQ(find_model(testing_support::catalogue(), folder("run")), folder("run/model"))
      << "what the run has exported";
}

TEST_F(StoredModels, ThatAreNotThereAreRefusedWithAWayToOne) {
  fs::create_directory(folder("empty"));
  EXPECT_THAT(
      refusal_of(Exit::kInput, [&] { find_model(testing_support::catalogue(), folder("empty")); }),
      HasSubstr("export.at_end=true"));
  EXPECT_THAT(
      refusal_of(Exit::kInput, [&] { find_model(testing_support::catalogue(), folder("absent")); }),
      HasSubstr("is not there"));
}

/// The first element of a parameter among those of the whole model.
int64_t first_of(const graph::Graph& graph, int32_t parameter) {
  int64_t first = 0;
  for (int32_t p = 0; p < parameter; ++p) first += graph.parameters[size_t(p)].real_numel;
  return first;
}

TEST_F(StoredModels, FillAShardOrAllOfThePlansThatTheyAreOf) {
  write("model");
  const ModelFolder model(testing_support::catalogue(), folder("model"));
  RunConfig config = testing::tiny(3);
  config.model.numbers.counts["layers"] = 1;
  config.model.numbers.counts["width"] = 8;
  config.model.numbers.counts["vocab_size"] = 10;
  config.model.numbers.counts["max_positions"] = config.data.sequence_length = 4;
  const std::vector<float> wanted = small_weights();
  for (const int64_t stage : {0, 1, 3}) {
    config.zero.stage = stage;
    const state::Build made = state::build(config, {.ranks = 2, .threads = 1});
    testing::Held begun(made.plan, 1), evaluated(made.plan, 1);
    begin_with_weights(model, begun.view());
    load_weights(model, evaluated.view());
    // Where the weights are whole, a training that begins fills a shard and gathers the rest.
    EXPECT_EQ(begun == evaluated, stage != 1) << stage;
    int64_t held = 0;
    for (const state::HeldSlice& slice : state::slices_to_load(made.plan, 1)) {
      std::vector<float> values(size_t(slice.numel()));
      state::read_state(begun.view(), *slice.unit, state::StateKind::master, slice.range, values);
      const int64_t first = first_of(made.plan.graphs[0], slice.parameter) + slice.begin;
      EXPECT_TRUE(std::equal(values.begin(), values.end(), wanted.begin() + first)) << stage;
      held += slice.numel();
    }
    EXPECT_EQ(held == small_model_numel(), stage == 0) << stage;
  }
}

TEST_F(StoredModels, AreComparedByTheirNumbers) {
  write("model");
  const ModelFolder model(testing_support::catalogue(), folder("model"));
  model::Gpt2 other = kSmallModel;
  other.dropout = 0.25f;
  EXPECT_NO_THROW(require_same_model(model, other)) << "dropout belongs to a training";
  other.heads = 4;
  EXPECT_THAT(refusal_of(Exit::kInput, [&] { require_same_model(model, other); }),
              HasSubstr("with 2 heads"));
}

using checkpoint::Tensor;

/// A checkpoint whose parameters are all `weight`, and masters, where there are any, `master`.
class CheckpointModels : public ::testing::Test {
 protected:
  void save(std::map<std::string, std::string> facts, bool masters, int64_t rows = 10) {
    std::vector<checkpoint::SlicePlan> slices;
    for (const auto& [name, shape] : stored_tensors(stored_graph(kSmallModel))) {
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

TEST_F(CheckpointModels, ThatSayNothingAreRefused) {
  save({}, false);
  EXPECT_THAT(
      refusal_of(Exit::kInput,
                 [&] { CheckpointModel open(testing_support::catalogue(), place_.path()); }),
      HasSubstr("does not say what model"));
}

}  // namespace

}  // namespace zero::models
