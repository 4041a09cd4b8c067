// Ranks: 1
#include "zero/train/checkpointer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "src/train/checkpoint_facts.hpp"
#include "src/train/checkpoint_layout.hpp"
#include "tests/support/held_state.hpp"

namespace zero::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::tiny;

Build build_for(int64_t stage, int ranks) { return build(tiny(stage), {ranks, 1}); }

TEST(CheckpointLayout, RanksWriteEveryElementOnceAtEveryStage) {
  for (const int64_t stage : {0, 1, 3}) {
    const plan::Plan plan = build_for(stage, 3).plan;
    const auto& parameters = plan.graphs[0].parameters;
    std::vector<std::vector<int>> times(parameters.size());
    for (size_t p = 0; p < parameters.size(); ++p)
      times[p].resize(size_t(parameters[p].real_numel));
    for (int rank = 0; rank < 3; ++rank) {
      for (const HeldSlice& slice : slices_to_save(plan, rank)) {
        ASSERT_LE(slice.begin + slice.numel(), parameters[size_t(slice.parameter)].real_numel);
        for (int64_t i = 0; i < slice.numel(); ++i) {
          ++times[size_t(slice.parameter)][size_t(slice.begin + i)];
        }
      }
    }
    for (const std::vector<int>& counts : times) {
      EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), int64_t(counts.size()));
    }
  }
}

TEST(CheckpointLayout, ARankReadsWhatItHoldsOfTheOptimizer) {
  const plan::Plan whole = build_for(0, 2).plan, sharded = build_for(1, 2).plan;
  EXPECT_EQ(slices_to_load(whole, 1).size(), whole.graphs[0].parameters.size());
  const auto numel = [](const std::vector<HeldSlice>& slices) {
    int64_t sum = 0;
    for (const HeldSlice& slice : slices) sum += slice.numel();
    return sum;
  };
  EXPECT_EQ(numel(slices_to_load(sharded, 0)) + numel(slices_to_load(sharded, 1)),
            numel(slices_to_load(whole, 0)));
}

TEST(CheckpointLayout, TensorsAreNamedAsElsewhereAndHaveNoPadding) {
  const plan::Plan plan = build_for(0, 1).plan;
  const checkpoint::Tensor table = saved_tensor(plan, 0, SavedPart::momentum);
  EXPECT_EQ(table.name, "optimizer/momentum/transformer.wte.weight");
  EXPECT_THAT(table.shape, ElementsAre(100, 64));
  EXPECT_EQ(saved_tensor(plan, 0, SavedPart::weight).name, "model/transformer.wte.weight");
}

TEST(CheckpointLayout, PiecesAreAtMostFourMebibytesAndJoinToTheSlices) {
  const plan::Unit unit{.name = "big", .numel = 5 << 19};
  const SavedSlice slice{{&unit, 0, {64, 64 + (5 << 19)}, 7}, SavedPart::variance};
  const std::vector<SavedSlice> pieces = pieces_of({slice});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].held.numel(), 1 << 20);
  EXPECT_EQ(pieces[1].held.begin, 7 + (1 << 20));
  EXPECT_EQ(pieces[2].held.numel(), 1 << 19);
  EXPECT_EQ(pieces[2].held.range.end, slice.held.range.end);
}

TEST(CheckpointFacts, AStateComesBackBitForBit) {
  kernels::StepState state{};
  state.loss_scale = 65536;
  state.beta1_power = 1.0 / 3;
  state.last_overflow = -1;
  state.report.loss = 0.1;
  state.report.grad_norm = std::numeric_limits<double>::infinity();
  Facts facts;
  add_state(state, facts);
  const kernels::StepState read = state_in(facts);
  EXPECT_EQ(read.loss_scale, state.loss_scale);
  EXPECT_EQ(read.beta1_power, state.beta1_power);
  EXPECT_EQ(read.last_overflow, -1);
  EXPECT_EQ(read.report.loss, 0.1);
  EXPECT_TRUE(std::isinf(read.report.grad_norm));
}

std::string refusal(const Facts& facts) {
  try {
    state_in(facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInput);
    return error.what();
  }
  return "";
}

TEST(CheckpointFacts, AStateThatIsIncompleteOrNoNumberIsRefused) {
  Facts facts;
  add_state({}, facts);
  facts["state.updates"] = "12x";
  EXPECT_THAT(refusal(facts), HasSubstr("\"state.updates\": \"12x\" is no number"));
  facts.erase("state.updates");
  EXPECT_THAT(refusal(facts), HasSubstr("no fact \"state.updates\""));
}

Facts facts_with(const std::string& configuration) {
  return {{"architecture", "a"}, {"tokenizer", "bytes"}, {"data", "1"},
          {"compute", "f32"},    {"arithmetic", "x"},    {"configuration", configuration}};
}

TEST(CheckpointFacts, WhatChangesNumbersIsListedAndWhatDoesNotIsFree) {
  const Facts saved = facts_with("[optimizer]\nlr = 0.5\n[zero]\nstage = 0\n");
  const Facts now = facts_with("[optimizer]\nlr = 0.25\n[zero]\nstage = 3\n");
  const FactChanges changes = changes_since(saved, now);
  EXPECT_EQ(changes.refused, "");
  EXPECT_THAT(changes.listed, ElementsAre("optimizer.lr = 0.5, now 0.25"));
  EXPECT_THAT(changes_since(saved, saved).listed, IsEmpty());
}

TEST(CheckpointFacts, AnotherModelOrOtherDataAreRefused) {
  for (const char* name : {"architecture", "tokenizer", "data"}) {
    Facts other = facts_with("");
    other[name] = "z";
    EXPECT_THAT(changes_since(facts_with(""), other).refused, HasSubstr(name));
  }
}

TEST(Checkpoints, AreFoundFromARunTheirRootOrOneOfThem) {
  namespace fs = std::filesystem;
  const std::string run = ::testing::TempDir() + "zeroapp-checkpointer";
  fs::create_directories(run + "/checkpoints/step00000012");
  for (const char* below : {"", "/checkpoints"}) {
    const CheckpointPlace place = find_checkpoints(run + below);
    EXPECT_TRUE(fs::equivalent(place.root, run + "/checkpoints")) << place.root;
    EXPECT_FALSE(place.step);
  }
  const CheckpointPlace one = find_checkpoints(run + "/checkpoints/step00000012");
  EXPECT_EQ(one.step, 12);
  EXPECT_TRUE(fs::equivalent(one.root, run + "/checkpoints")) << one.root;
}

TEST(Checkpoints, LieInTheRunUnlessAFolderIsNamed) {
  RunConfig config = tiny(0);
  EXPECT_EQ(checkpoint_root(config), "runs/tiny/checkpoints");
  config.checkpoint.dir = "/scratch/c";
  EXPECT_EQ(checkpoint_root(config), "/scratch/c");
}

}  // namespace
}  // namespace zero::train
