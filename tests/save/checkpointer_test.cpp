// Ranks: 1
#include "zero/save/checkpointer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "src/save/checkpoint_check.hpp"
#include "src/save/checkpoint_payload.hpp"
#include "src/save/slice_reader.hpp"
#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "tests/support/rank_states.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/state/state_layout.hpp"

namespace zero::save {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::tiny;

setup::Build build_for(int64_t stage, int ranks) { return setup::build(tiny(stage), {ranks, 1}); }

TEST(CheckpointLayout, RanksWriteEveryElementOnceAtEveryStage) {
  for (const int64_t stage : {0, 1, 3}) {
    const plan::Plan plan = build_for(stage, 3).plan;
    const auto& parameters = plan.graphs[0].parameters;
    std::vector<std::vector<int>> times(parameters.size());
    for (size_t p = 0; p < parameters.size(); ++p)
      times[p].resize(size_t(parameters[p].real_numel));
    for (int rank = 0; rank < 3; ++rank) {
      for (const state::HeldSlice& slice : state::slices_to_save(plan, rank)) {
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
  EXPECT_EQ(state::slices_to_load(whole, 1).size(), whole.graphs[0].parameters.size());
  const auto numel = [](const std::vector<state::HeldSlice>& slices) {
    int64_t sum = 0;
    for (const state::HeldSlice& slice : slices) sum += slice.numel();
    return sum;
  };
  EXPECT_EQ(numel(state::slices_to_load(sharded, 0)) + numel(state::slices_to_load(sharded, 1)),
            numel(state::slices_to_load(whole, 0)));
}

TEST(CheckpointLayout, TensorsAreNamedAsElsewhereAndHaveNoPadding) {
  const plan::Plan plan = build_for(0, 1).plan;
  const checkpoint::Tensor table = state::saved_tensor(plan, 0, setup::SavedPart(0));
  EXPECT_EQ(table.name, "optimizer/momentum/transformer.wte.weight");
  EXPECT_THAT(table.shape, ElementsAre(100, 64));
  EXPECT_EQ(state::saved_tensor(plan, 0, setup::SavedPart::weight).name,
            "model/transformer.wte.weight");
}

TEST(CheckpointLayout, OtherStatesAreOfAnotherOptimizer) {
  plan::Plan plan = build_for(0, 1).plan;
  checkpoint::Manifest manifest;
  manifest.facts["optimizer"] = "AdamW";
  state::describe_tensors(plan, setup::saved_parts(plan, false), manifest);
  EXPECT_EQ(state::other_optimizer(plan, manifest), "");
  manifest.facts["optimizer"] = "Adam";
  EXPECT_EQ(state::other_optimizer(plan, manifest), "") << "by the same op";
  manifest.facts["optimizer"] = "LAMB";
  EXPECT_EQ(state::other_optimizer(plan, manifest),
            "the optimizer is LAMB there, which keeps momentum and variance, and AdamW now, which "
            "keeps momentum and variance");
  manifest.facts["optimizer"] = "AdamW";
  plan.request.optimizer.name = "Half";
  plan.request.optimizer.states = plan.request.optimizer.states.first(1);
  EXPECT_EQ(state::other_optimizer(plan, manifest),
            "the optimizer is AdamW there, which keeps momentum and variance, and Half now, which "
            "keeps momentum");
  plan.request.optimizer.states = {};
  EXPECT_THAT(state::other_optimizer(plan, manifest),
              ::testing::EndsWith("Half now, which keeps no state"));
}

TEST(CheckpointLayout, PiecesAreAtMostFourMebibytesAndJoinToTheSlices) {
  const plan::Unit unit{.name = "big", .numel = 5 << 19};
  const state::SavedSlice slice{{&unit, 0, {64, 64 + (5 << 19)}, 7}, setup::SavedPart(1)};
  const std::vector<state::SavedSlice> pieces = state::pieces_of({slice});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].held.numel(), 1 << 20);
  EXPECT_EQ(pieces[1].held.begin, 7 + (1 << 20));
  EXPECT_EQ(pieces[2].held.numel(), 1 << 19);
  EXPECT_EQ(pieces[2].held.range.end, slice.held.range.end);
}

TEST(CheckpointPayload, OfACopyIsWhatTheStateWas) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const setup::Build made = setup::build(tiny(2, compute), {3, 1});
    testing::Held held(made.plan, 1);
    const state::StateView view = held.view();
    uint8_t value = 0;
    for (size_t b = 0; b < made.plan.buffers.size(); ++b) {
      for (std::byte& byte : view.bytes(int32_t(b))) byte = std::byte(++value & 0x3f);
    }
    SliceReader reader;
    LivePayload live(view, setup::saved_parts(made.plan, false), reader);
    PayloadCopy copy(made.plan, setup::saved_parts(made.plan, false));
    copy.copy(live);
    std::vector<std::vector<std::byte>> pieces;
    for (size_t i = 0; i < live.pieces(); ++i) {
      const auto piece = live.piece(i);
      pieces.emplace_back(piece.begin(), piece.end());
    }
    for (size_t b = 0; b < made.plan.buffers.size(); ++b)
      std::ranges::fill(view.bytes(int32_t(b)), std::byte(0));
    ASSERT_EQ(copy.pieces(), pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(copy.piece(i), pieces[i])) << name_of(compute) << " " << i;
    }
  }
}

/// In whichever pieces a payload hands them out.
void require_written(const plan::Plan& plan, LivePayload& live, Payload& payload) {
  const testing_support::TempFolder place("payload");
  const OpenFile folder = testing_support::opened_folder(place.path());
  const Arena staging(checkpoint::kStagingBytes);
  const auto slices = state::slice_plans(plan, 1, setup::saved_parts(plan, false));
  checkpoint::ShardWriter writer(folder.descriptor(), "rank00001.h5",
                                 checkpoint::ShardStructure(slices), staging, {});
  for (size_t i = 0; i < payload.pieces(); ++i) payload.append_to(writer, i);
  const auto written = writer.finish();
  checkpoint::ShardReader reader(folder.descriptor(), place.path(), written.file, {});
  ASSERT_EQ(live.pieces(), slices.size()) << "none is longer than a piece";
  for (size_t i = 0; i < live.pieces(); ++i) {
    const auto piece = live.piece(i);
    std::vector<std::byte> found(piece.size());
    reader.read(written.offsets[i], found);
    EXPECT_TRUE(std::ranges::equal(found, piece)) << slices[i].tensor.name;
  }
}

TEST(CheckpointPayload, FilesHoldItsPieces) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16}) {
    RunConfig config = tiny(2, compute);
    config.model.numbers.counts["vocab_size"] =
        3000;  // 96,000 elements a rank: more than are joined at a time
    const setup::Build made = setup::build(config, {2, 1});
    testing::Held held(made.plan, 1);
    uint32_t value = 0;  // of no period that a piece might have
    for (size_t b = 0; b < made.plan.buffers.size(); ++b) {
      for (std::byte& byte : held.view().bytes(int32_t(b))) byte = std::byte(++value % 61);
    }
    SliceReader reader;
    LivePayload live(held.view(), setup::saved_parts(made.plan, false), reader);
    require_written(made.plan, live, live);
    PayloadCopy copy(made.plan, setup::saved_parts(made.plan, false));
    copy.copy(live);
    require_written(made.plan, live, copy);
  }
}

TEST(CheckpointLayout, PlacesAreOfTheSlicesThatWereDescribed) {
  const plan::Plan plan = build_for(3, 2).plan;
  checkpoint::Manifest manifest;
  state::describe_slices(plan, 2, setup::saved_parts(plan, false), manifest);
  std::vector<std::vector<int64_t>> offsets;
  for (const int rank : {0, 1}) {
    offsets.emplace_back(state::saved_slices(plan, rank, setup::saved_parts(plan, false)).size(),
                         rank + 7);
  }
  state::place_slices(offsets, manifest);
  for (const checkpoint::Slice& slice : manifest.slices) EXPECT_EQ(slice.offset, slice.file + 7);
  offsets[0].push_back(1);
  EXPECT_THROW(state::place_slices(offsets, manifest), Error);
  offsets[0].pop_back();
  offsets[1].pop_back();
  EXPECT_THROW(state::place_slices(offsets, manifest), Error);
}

using testing::value_of;
using Ranks = testing::RankStates;

TEST(CheckpointState, IsTriedWithMastersThatNoWeightOf16BitsHolds) {
  const plan::Plan plan = build_for(0, 1).plan;
  const checkpoint::Tensor master = state::saved_tensor(plan, 0, setup::SavedPart::master);
  for (int64_t element = 0; element < 1000; ++element) {
    const float value = value_of(master, element);
    ASSERT_NE(value, float(bf16(value)));
    ASSERT_NE(value, float(f16(value)));
  }
}

/// Tries every stage and each number of ranks up to four, odd ones among them.
TEST(CheckpointState, OfAnyRanksAndStageFillsAnyOthersBitForBit) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    std::vector<plan::Plan> plans;
    for (const int ranks : {1, 2, 3, 4}) {
      for (const int64_t stage : {0, 1, 2, 3}) {
        plans.push_back(setup::build(tiny(stage, compute), {ranks, 1}).plan);
      }
    }
    for (size_t from = compute == Dtype::f32 ? 0 : 7; from < plans.size(); from += 5) {
      const testing_support::TempFolder place("reshard");
      checkpoint::Store store({.root = place.path(), .writes = true});
      Ranks saved(plans[from]);
      saved.fill();
      const checkpoint::Manifest manifest = saved.save(store);
      store.verify(1, true);
      for (size_t to = 0; to < plans.size(); ++to) {
        Ranks loaded(plans[to]);
        loaded.load(store, manifest);
        EXPECT_EQ(loaded.wrong_elements(), 0) << name_of(compute) << ", " << from << " to " << to;
      }
    }
  }
}

/// A plan takes no memory: 710 billion parameters of 14 bytes are 9 TiB, their weights 1.3.
TEST(CheckpointManifest, ThatNoProgramWouldReadIsRefusedBeforeTraining) {
  RunConfig config = tiny(3, Dtype::bf16);
  state::require_readable_manifest(setup::build(config, {2, 1}).plan, false, {});
  config.model.numbers.counts["width"] = 49152;
  config.model.numbers.counts["heads"] = 512;
  config.model.numbers.counts["layers"] = 24;
  const plan::Plan plan = setup::build(config, {2, 1}).plan;
  const std::string refused = testing_support::refusal_of(
      Exit::kUsage, [&] { state::require_readable_manifest(plan, false, {}); });
  EXPECT_THAT(refused, HasSubstr("a save by 2 ranks would have 2"));
  EXPECT_THAT(refused, HasSubstr("bytes, of which 268435456 are read - write "
                                 "checkpoint.weights_only = true"));
  state::require_readable_manifest(plan, true, {});
  const Facts facts = {{"configuration", std::string(size_t(checkpoint::kManifestBytesMax), 'x')}};
  EXPECT_THAT(testing_support::refusal_of(
                  Exit::kUsage, [&] { state::require_readable_manifest(plan, true, facts); }),
              HasSubstr("take a smaller model, or fewer ranks"));
}

TEST(Checkpoints, AreFoundFromARunTheirRootOrOneOfThem) {
  namespace fs = std::filesystem;
  const std::string run = ::testing::TempDir() + "zeroapp-checkpointer";
  fs::create_directories(run + "/checkpoints/step00000012");
  for (const char* below : {"", "/checkpoints"}) {
    const CheckpointFolder place = find_checkpoints(run + below);
    EXPECT_TRUE(fs::equivalent(place.root, run + "/checkpoints")) << place.root;
    EXPECT_FALSE(place.step);
  }
  const CheckpointFolder one = find_checkpoints(run + "/checkpoints/step00000012");
  EXPECT_EQ(one.step, 12);
  EXPECT_TRUE(fs::equivalent(one.root, run + "/checkpoints")) << one.root;
}

TEST(Checkpoints, AreFoundWhereARunHasNamedAFolder) {
  namespace fs = std::filesystem;
  const std::string run = ::testing::TempDir() + "zeroapp-elsewhere";
  fs::create_directories(run);
  std::ofstream(run + "/effective.toml")
      << "train_batch_size = 1\n[model]\nname = \"gpt2\"\n[data]\ntrain = \"a.txt\"\n"
         "[run]\nsteps = 1\n[checkpoint]\n"
         "dir = \"elsewhere/kept\"\n";
  EXPECT_EQ(find_checkpoints(run).root, "elsewhere/kept");
  fs::remove_all(run);
}

TEST(Checkpoints, LieInTheRunUnlessAFolderIsNamed) {
  RunConfig config = tiny(0);
  EXPECT_EQ(checkpoint_root(config), "runs/tiny/checkpoints");
  EXPECT_THAT(to_begin_anew(config), HasSubstr("never"));
  config.checkpoint.dir = "/scratch/c";
  EXPECT_EQ(to_begin_anew(config), "another checkpoint.dir");
  EXPECT_EQ(checkpoint_root(config), "/scratch/c");
}

}  // namespace
}  // namespace zero::save
