// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/golden.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_model.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/stored/stored_model.hpp"
#include "zero/text/text_decoder.hpp"

namespace zero::stored {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::content_of;
using testing_support::refusal_of;

class ModelImport : public ::testing::Test {
 protected:
  std::string folder(const std::string& name) const { return place_.path() + "/" + name; }
  void import(const std::string& from, const std::string& to) const {
    import_model(ModelFolder(testing_support::catalogue(), folder(from)), folder(to), "a test");
  }
  TempFolder place_{"model-import"};
};

class ModelImports : public ModelImport, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Types, ModelImports,
                         ::testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16));

TEST_P(ModelImports, ExportedAgainAreTheSameBytes) {
  const Dtype compute = GetParam();
  write_small_model(small_options(folder("model"), compute));
  import("model", "root");
  const CheckpointModel imported(testing_support::catalogue(), folder("root"));
  EXPECT_EQ(imported.description().compute, compute);
  EXPECT_EQ(imported.dtype_of("wte.weight"), compute);
  EXPECT_EQ(imported.checkpoint().manifest().step, 0);
  EXPECT_EQ(weights_of(imported), small_weights());

  ModelWriter writer({.folder = folder("again"), .description = imported.description()});
  writer.add(weights_of(imported));
  writer.publish();
  for (const char* file : {"model.safetensors", "config.json"}) {
    EXPECT_EQ(content_of(folder(text("again/", file))), content_of(folder(text("model/", file))));
  }
}

TEST_F(ModelImport, IsACheckpointOfWeightsAlone) {
  write_small_model(small_options(folder("model"), Dtype::f32));
  import("model", "root");
  const save::StoredCheckpoint checkpoint(folder("root"));
  EXPECT_EQ(checkpoint.fact("weights_only"), "true");
  EXPECT_EQ(checkpoint.fact("imported_from"), folder("model"));
  const checkpoint::Store store({.root = folder("root")});
  EXPECT_EQ(store.latest(), 0);
  EXPECT_NO_THROW(store.verify(0, true));
}

TEST_F(ModelImport, OverwritesNothingAndLeavesNothingHalfMade) {
  write_small_model(small_options(folder("model"), Dtype::f32));
  import("model", "root");
  EXPECT_THAT(refusal_of(Exit::kIo, [&] { import("model", "root"); }),
              HasSubstr("never overwritten"));
  EXPECT_EQ(weights_of(CheckpointModel(testing_support::catalogue(), folder("root"))),
            small_weights())
      << "it is as it was";
}

/// Weights as the hub has them - without "transformer.", with mask buffers - against an
/// implementation in float64.
TEST(HubModel, HasTheLogitsOfAnIndependentImplementation) {
  const TempFolder place("hub-model");
  const testing::GoldenLogits golden = testing::load_golden_logits();
  import_model(ModelFolder(testing_support::catalogue(), golden.folder), place.path() + "/root",
               "a test");
  const CheckpointModel model(testing_support::catalogue(), place.path() + "/root");
  writing::Decoder decoder(model.description().recipe(), {.compute = Dtype::f32, .threads = 1});
  const graph::Graph& graph = decoder.graph();
  for (size_t p = 0; p < graph.parameters.size(); ++p) {
    read_pieces(model, graph[graph.parameters[p].tensor].name, 0, graph.parameters[p].real_numel,
                [&](int64_t first, std::span<const float> piece) {
                  decoder.set_parameter(int32_t(p), first, piece);
                });
  }
  std::vector<double> logits;
  for (const int32_t token : golden.tokens) {
    const std::span<const float> row = decoder.feed({&token, 1});
    logits.insert(logits.end(), row.begin(), row.end());
  }
  EXPECT_LE(testing::relative_l2(logits, golden.logits, 1e-300), 1e-5);
}

}  // namespace
}  // namespace zero::stored
