// Ranks: 1

#include "src/save/frozen_disk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/save/checkpoint_payload.hpp"
#include "src/save/slice_reader.hpp"
#include "tests/support/rank_with_disk.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/align.hpp"

namespace zero::save {
namespace {

using testing::build_of;
using testing::config_of;
using testing::kAll;
using testing::kNone;
using testing::kParameters;
using testing::kStates;
using testing::pieces_of;
using testing::RankWithDisk;
using testing::rethrown;

TEST(FrozenDisk, HasTwoSlotsOfWhatASaveReadsThere) {
  for (const testing::Homes homes : {kAll, kStates, kParameters}) {
    const setup::Build made = build_of(homes, Dtype::bf16);
    const int64_t on_disk = made.plan.arena_bytes[size_t(plan::Tier::nvme)];
    EXPECT_EQ(tiers::SlotTable::bytes_for(made.slotted), on_disk);
    EXPECT_EQ(made.disk_bytes(), 2 * on_disk);
  }
  const setup::Build made = build_of(kNone, Dtype::bf16);
  EXPECT_TRUE(made.slotted.empty());
  EXPECT_EQ(made.disk_bytes(), 0);
}

TEST(FrozenDisk, HasOneSlotOfWhatNoSaveReads) {
  RunConfig config = config_of(kAll, Dtype::bf16);
  config.checkpoint.weights_only = true;
  const setup::Build weights = setup::build(config, {2, 1});
  int64_t bytes = 0;
  for (const plan::Unit& unit : weights.plan.units) {
    bytes += round_up(2 * unit.shard_numel, tiers::kDiskBlockBytes);
  }
  EXPECT_EQ(tiers::SlotTable::bytes_for(weights.slotted), bytes);
  config.checkpoint.async = false;
  EXPECT_TRUE(setup::build(config, {2, 1}).slotted.empty());
}

TEST(FrozenDisk, LeavesHostMemoryAWindow) {
  constexpr int64_t kBeside = setup::kFrozenWindowBytes + setup::kJoinRoomBytes;
  EXPECT_EQ(build_of(kAll, Dtype::bf16).copy_bytes, kBeside);
  const setup::Build states = build_of(kStates, Dtype::bf16), none = build_of(kNone, Dtype::bf16);
  int64_t numel = 0;
  for (const plan::Unit& unit : states.plan.units) numel += unit.shard_numel;
  EXPECT_EQ(states.copy_bytes, 2 * numel + kBeside) << "weights";
  EXPECT_EQ(none.copy_bytes, 12 * numel);
}

TEST(FrozenDisk, GivesASaveWhatItFoundWhateverIsWrittenMeanwhile) {
  for (const testing::Homes homes : {kAll, kStates, kParameters}) {
    for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const setup::Build made = build_of(homes, compute);
      RankWithDisk rank(made.plan);
      FrozenDisk frozen(made.plan, setup::saved_parts(made.plan, false));
      PayloadCopy copy(made.plan, setup::saved_parts(made.plan, false));
      for (const uint32_t save : {1, 2, 3}) {
        rank.fill(save);
        SliceReader reader;
        LivePayload live(rank.view(), setup::saved_parts(made.plan, false), reader);
        const auto found = pieces_of(live);
        frozen.freeze(rank.disk());
        copy.copy(live, frozen.view(1, rethrown));
        rank.fill(save + 20);
        EXPECT_NE(pieces_of(live), found);
        EXPECT_EQ(pieces_of(copy), found) << name_of(compute) << " save " << save;
        frozen.thaw();
      }
    }
  }
}

TEST(FrozenDisk, TellsOfADiskThatIsToBeTrustedNoMore) {
  const setup::Build made = build_of(kAll, Dtype::f32);
  RankWithDisk rank(made.plan);
  rank.fill(1);
  const int32_t moments = made.plan.units[0].states[0];
  const plan::Buffer& buffer = made.plan.buffers[size_t(moments)];
  const std::vector<std::byte> other(size_t(std::min(buffer.bytes, tiers::kDiskBlockBytes)));
  rank.disk()->lanes().write->note(buffer.offset, other, 7);
  FrozenDisk frozen(made.plan, setup::saved_parts(made.plan, false));
  frozen.freeze(rank.disk());
  std::string told;
  const state::StateView view = frozen.view(1, [&](const std::exception_ptr& error) {
    told = testing_support::refusal_of(Exit::kIo, [&] { rethrown(error); });
  });
  std::vector<std::byte> out(16);
  view.read_far(moments, 0, out);
  EXPECT_NE(told.find("written in step 7, reads back as other bytes"), told.npos) << told;
}

TEST(FrozenDisk, LetsGoOfTheDiskWhenItEnds) {
  const setup::Build made = build_of(kAll, Dtype::f32);
  RankWithDisk rank(made.plan);
  for (int i = 0; i < 2; ++i)
    FrozenDisk(made.plan, setup::saved_parts(made.plan, false)).freeze(rank.disk());
  EXPECT_EQ(rank.disk().use_count(), 1);
}

}  // namespace
}  // namespace zero::save
