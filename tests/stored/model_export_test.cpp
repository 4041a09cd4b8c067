// Ranks: 1 2
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "zero/kernels/optimizer.hpp"
#include "zero/state/state_view.hpp"
#include "zero/stored/model_folder.hpp"
#include "zero/stored/stored_model.hpp"

namespace zero::stored {
namespace {

using testing::Held;
using testing::tiny;

namespace fs = std::filesystem;

/// A folder that all ranks know and rank 0 removes.
class SharedFolder {
 public:
  explicit SharedFolder(const launch::Peers& peers) : peers_(peers) {
    const auto name = "zero-export-" + std::to_string(peers.largest(getpid()));
    path_ = (fs::temp_directory_path() / name).string();
  }
  ~SharedFolder() {
    peers_.largest(0);
    if (peers_.rank() == 0) fs::remove_all(path_);
    peers_.largest(0);
  }
  const std::string& path() const { return path_; }

 private:
  const launch::Peers& peers_;
  std::string path_;
};

ModelDescription description_of(const setup::Build& build) {
  return {.model = build.recipe.model,
          .compute = build.plan.request.compute,
          .tokenizer = "bytes",
          .sequence_length = 16};
}

class ModelExport : public ::testing::TestWithParam<std::tuple<int, Dtype>> {};

TEST_P(ModelExport, HoldsTheWeightsThatAreMultipliedWith) {
  const auto [stage, compute] = GetParam();
  const launch::Peers peers;
  const setup::Build made =
      setup::build(tiny(stage, compute), {.ranks = peers.ranks(), .threads = 1});
  Held held(made.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  {
    const SharedFolder folder(peers);
    export_model(held.view(), peers, folder.path(), description_of(made));
    peers.largest(0);
    const ModelFolder read(testing_support::catalogue(), folder.path());
    EXPECT_EQ(read.description().compute, compute);
    // What a rank multiplies with is what it holds of the weights at this stage.
    for (const plan::Unit& unit : made.plan.units) {
      const state::UnitRange mine = state::held_range(unit, unit.optimizer_sharded, peers.rank());
      const state::UnitRange weights = state::held_range(unit, unit.weight_sharded, peers.rank());
      for (const plan::UnitParameter& place : unit.parameters) {
        const graph::Parameter& parameter = made.plan.graphs[0].parameters[size_t(place.parameter)];
        std::vector<float> stored(size_t(parameter.real_numel));
        read.read(made.plan.graphs[0][parameter.tensor].name, 0, stored);
        for (int64_t e = 0; e < parameter.real_numel; ++e) {
          const int64_t i = place.begin + e;
          if (i < mine.begin || i >= mine.end) continue;
          const size_t at = size_t(i - weights.begin);
          const float used =
              compute == Dtype::bf16  ? float(held.view().values<bf16>(unit.weight)[at])
              : compute == Dtype::f16 ? float(held.view().values<f16>(unit.weight)[at])
                                      : held.view().values<float>(unit.weight)[at];
          ASSERT_EQ(stored[size_t(e)], used) << unit.name << " element " << i;
        }
      }
    }
  }
}

TEST_P(ModelExport, IsLoadedBackAsItWasWritten) {
  const auto [stage, compute] = GetParam();
  const launch::Peers peers;
  const setup::Build made =
      setup::build(tiny(stage, compute), {.ranks = peers.ranks(), .threads = 1});
  Held held(made.plan, peers.rank()), first(made.plan, peers.rank()),
      second(made.plan, peers.rank());
  state::fill_initial_weights(held.view(), 7, 1);
  const SharedFolder folder(peers), copy(peers);
  export_model(held.view(), peers, folder.path(), description_of(made));
  peers.largest(0);
  load_weights(ModelFolder(testing_support::catalogue(), folder.path()), first.view());
  export_model(first.view(), peers, copy.path() + "-copy", description_of(made));
  peers.largest(0);
  load_weights(ModelFolder(testing_support::catalogue(), copy.path() + "-copy"), second.view());
  EXPECT_TRUE(first == second);
  // In fp32 the weight is the master, and at stages 0 and 3 every rank holds all that it loads.
  const bool holds_all = compute == Dtype::f32 && (stage == 0 || stage == 3);
  EXPECT_TRUE(held == first || !holds_all);
  peers.largest(0);
  if (peers.rank() == 0) fs::remove_all(copy.path() + "-copy");
}

INSTANTIATE_TEST_SUITE_P(StagesAndTypes, ModelExport,
                         ::testing::Combine(::testing::Values(0, 1, 3),
                                            ::testing::Values(Dtype::f32, Dtype::bf16,
                                                              Dtype::f16)));

TEST(ModelExportFolder, AppearsOnceAndIsNeverOverwritten) {
  const launch::Peers peers;
  const setup::Build made =
      setup::build(tiny(0, Dtype::f32), {.ranks = peers.ranks(), .threads = 1});
  Held held(made.plan, peers.rank());
  if (peers.rank() != 0) return;
  // Stage 0: rank 0 holds everything and speaks to nobody.
  const std::string path =
      (fs::temp_directory_path() / ("zero-once-" + std::to_string(getpid()))).string();
  export_model(held.view(), peers, path, description_of(made));
  EXPECT_THROW(export_model(held.view(), peers, path, description_of(made)), Error);
  int names = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
    names += entry.path().filename().string().starts_with(fs::path(path).filename().string());
  }
  EXPECT_EQ(names, 1) << "no temporary stays";
  fs::remove_all(path);
}

}  // namespace
}  // namespace zero::stored
