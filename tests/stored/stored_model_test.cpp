// Ranks: 1
#include "zero/stored/stored_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "src/model/gpt2.hpp"
#include "tests/support/forward_of.hpp"
#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/advise/cheapest_change.hpp"
#include "zero/base/error.hpp"
#include "zero/state/state_layout.hpp"
#include "zero/stored/model_folder.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::kSmallModel;
using testing_support::refusal_of;

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

/// A training of kSmallModel.
RunConfig config_of_small_model(int64_t stage) {
  RunConfig config = testing::tiny(stage);
  config.model.numbers.counts["layers"] = 1;
  config.model.numbers.counts["width"] = 8;
  config.model.numbers.counts["vocab_size"] = 10;
  config.model.numbers.counts["max_positions"] = config.data.sequence_length = 4;
  return config;
}

TEST_F(StoredModels, FillAShardOrAllOfThePlansThatTheyAreOf) {
  write("model");
  const ModelFolder model(testing_support::catalogue(), folder("model"));
  RunConfig config = config_of_small_model(3);
  const std::vector<float> wanted = small_weights();
  for (const int64_t stage : {0, 1, 3}) {
    config.zero.stage = stage;
    const setup::Build made = setup::build(config, {.ranks = 2, .threads = 1});
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

TEST_F(StoredModels, LeaveWhatIsDrawnAnewToTheDraw) {
  write("model");
  RunConfig config = config_of_small_model(0);
  config.model.reinit = {"wpe.*", "h.0.attn.c_attn.weight"};
  const setup::Build made = setup::build(config, {.ranks = 1, .threads = 1});
  const graph::Graph& graph = made.plan.graphs[0];
  testing::Held begun(made.plan, 0), drawn(made.plan, 0);
  state::fill_initial_weights(drawn.view(), 7, 1);
  state::fill_initial_weights(begun.view(), 7, 1);
  begin_with_weights(ModelFolder(testing_support::catalogue(), folder("model"), &config),
                     begun.view());
  const std::vector<float> stored = small_weights();
  int counted = 0;
  for (const state::HeldSlice& slice : state::slices_to_load(made.plan, 0)) {
    std::vector<float> values(size_t(slice.numel())), fresh(values);
    state::read_state(begun.view(), *slice.unit, state::StateKind::master, slice.range, values);
    state::read_state(drawn.view(), *slice.unit, state::StateKind::master, slice.range, fresh);
    const std::string& name = graph[graph.parameters[size_t(slice.parameter)].tensor].name;
    const bool is_anew = name == "wpe.weight" || name == "h.0.attn.c_attn.weight";
    const int64_t first = first_of(graph, slice.parameter) + slice.begin;
    EXPECT_EQ(values == fresh, is_anew) << name;
    counted += is_anew;
    EXPECT_EQ(std::equal(values.begin(), values.end(), stored.begin() + first), !is_anew) << name;
  }
  EXPECT_EQ(counted, 2);
}

/// A model with classes and no weights.
class NamedModel : public StoredModel {
 public:
  NamedModel(std::vector<std::string> classes, std::vector<std::string> anew) {
    description_.model = testing_support::model_named("deberta-v3-small");
    description_.classes = std::move(classes);
    anew_ = std::move(anew);
  }
  const std::string& path() const override { return path_; }
  const std::string& weights() const override { return path_; }
  const ModelDescription& description() const override { return description_; }
  Settings settings() const override { return {}; }
  Dtype dtype_of(std::string_view) const override { return Dtype::f32; }
  void read(std::string_view, int64_t, std::span<float>) const override {}
  bool holds(std::string_view) const override { return true; }

 private:
  std::string path_ = "there";
  ModelDescription description_;
};

TEST(StoredClasses, StayWithTheirClassifierUnlessItIsDrawnAnew) {
  const NamedModel model({"no", "yes"}, {}),
      drawn({"no", "yes"}, {"classifier.weight", "classifier.bias"}),
      half({"no", "yes"}, {"classifier.weight"}), nameless({}, {});
  const auto refusal = [](const StoredModel& of, const std::vector<std::string>& classes,
                          bool are_written) {
    return refusal_of(Exit::kInput, [&] { require_same_classes(of, classes, are_written); });
  };
  using Names = std::vector<std::string>;
  EXPECT_NO_THROW(require_same_classes(model, {"no", "yes"}, false));
  EXPECT_EQ(refusal(model, {"yes", "no"}, true),
            "model.init_from: there: its classes are [\"no\", \"yes\"], and those of the data "
            "[\"yes\", \"no\"]; write data.labels, the words of data.train in the order of the "
            "model's, or model.reinit = [\"classifier.*\"]");
  EXPECT_THAT(refusal(half, {"a", "b"}, false),
              HasSubstr("[\"a\", \"b\"], but model.reinit keeps classifier.bias of their head; "));
  EXPECT_NO_THROW(require_same_classes(half, {"no", "yes"}, false)) << "the classes stay";
  EXPECT_THAT(refusal(model, {"a", "b"}, false), HasSubstr("those of the data [\"a\", \"b\"]"));
  EXPECT_NO_THROW(require_same_classes(model, {"a", "b"}, true)) << "the user's own words for them";
  for (const Names& classes : {Names{"yes", "no"}, Names{"a", "b"}}) {
    EXPECT_NO_THROW(require_same_classes(drawn, classes, false));
    EXPECT_NO_THROW(require_same_classes(nameless, classes, false));
  }
  EXPECT_NO_THROW(require_same_classes(model, {}, false)) << "a regression";
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

constexpr model::Gpt2 kModel{
    .layers = 1, .width = 8, .heads = 2, .vocabulary = 256, .positions = 16};

/// A run's folder with a model in it, and settings if there are any.
class StoredRun : public ::testing::Test {
 protected:
  StoredRun() : run_(fs::temp_directory_path() / ("zero-stored-" + std::to_string(getpid()))) {
    fs::create_directories(run_ / "model");
    describe("bytes");
    const auto tensors = stored_tensors(
        model::forward_of(kModel, {.micro = {1, 1}, .compute = Dtype::f32, .training = false}));
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
  void settings(const std::string& text) const {
    write("effective.toml", text);
    write("launches.jsonl", "{}\n");
  }
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

TEST_F(StoredRun, AConstantOfItsFamilyIsTheModels) {
  model::Gpt2 other = kModel;
  other.epsilon = 1e-6f;
  write("model/config.json", description_json({.model = other, .sequence_length = 8}));
  const auto epsilon = [&] {
    return model::architecture_of(config({"data.validation=b.txt"})).numbers.rate("epsilon");
  };
  EXPECT_EQ(epsilon(), double(1e-6f));
  settings(kSettings);
  EXPECT_EQ(epsilon(), double(1e-6f)) << "beside settings, which have no key for it";
  EXPECT_EQ(model::fact({other}), model::fact({kModel}) + ", epsilon 1e-06");
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
  EXPECT_FALSE(found.numerics.reproducible);
  settings(std::string(kSettings) + "[numerics]\nreproducible = true\nmax_bad_steps = 3\n");
  EXPECT_TRUE(config({}).numerics.reproducible) << "which sets its digits";
  EXPECT_NE(config({}).numerics.max_bad_steps, 3) << "which is of steps";
}

TEST_F(StoredRun, SettingsBesideAFolderOfAnotherNameOrOutsideOfARunAreAStrangers) {
  const auto settings_beside = [&](const char* name) {
    return ModelFolder(testing_support::catalogue(), (run_ / name).string()).settings().text;
  };
  settings(kSettings);
  EXPECT_EQ(settings_beside("model"), kSettings);
  EXPECT_EQ(settings_beside("model/"), kSettings);
  EXPECT_EQ(settings_beside("model/."), kSettings);
  const fs::path before = fs::current_path();
  fs::current_path(run_ / "model");
  for (const char* here : {".", "./", "../model"})
    EXPECT_EQ(ModelFolder(testing_support::catalogue(), here).settings().text, kSettings) << here;
  fs::current_path(before);
  fs::copy(run_ / "model", run_ / "m");
  EXPECT_EQ(settings_beside("m"), "");
  fs::remove(run_ / "launches.jsonl");
  EXPECT_EQ(settings_beside("model"), "") << "no run was here";
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
}  // namespace zero::stored
