// Ranks: 1
#include "src/save/checkpoint_payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/save/frozen_disk.hpp"
#include "tests/support/rank_with_disk.hpp"

namespace zero::save {
namespace {

using testing::build_of;
using testing::config_of;
using testing::kNone;
using testing::kStates;
using testing::pieces_of;
using testing::RankWithDisk;
using testing::rethrown;

TEST(PayloadCopy, HasOfFrozenUnitsTheirWeights) {
  RunConfig config = config_of(kStates, Dtype::bf16);
  config.model.freeze = {"wte.weight", "h.1.*"};
  const setup::Build made = setup::build(config, {2, 1});
  const auto parts = setup::saved_parts(made.plan, false);
  RankWithDisk rank(made.plan);
  rank.fill(1);
  FrozenDisk frozen(made.plan, parts);
  PayloadCopy copy(made.plan, parts);
  SliceReader reader;
  LivePayload live(rank.view(), parts, reader);
  frozen.freeze(rank.disk());
  copy.copy(live, frozen.view(1, rethrown));
  int weights = 0;
  for (size_t i = 0; i < live.pieces(); ++i) {
    const auto& [held, part] = live.slice(i);
    if (!held.unit->frozen) continue;
    EXPECT_EQ(part, setup::SavedPart::weight);
    EXPECT_TRUE(std::ranges::equal(copy.piece(i),
                                   state::weights_in_memory(rank.view(), *held.unit, held.range)));
    ++weights;
  }
  EXPECT_GT(weights, 1);
  EXPECT_EQ(pieces_of(copy), pieces_of(live));
  frozen.thaw();
}

TEST(SavedSlices, HaveNothingOfBorrowedUnits) {
  RunConfig config = config_of(kStates, Dtype::bf16);
  config.model.freeze = {"wte.weight", "h.1.*"};
  plan::Plan plan = setup::build(config, {2, 1}).plan;
  const auto parts = setup::saved_parts(plan, false);
  const auto of_frozen = [&](const std::vector<state::SavedSlice>& slices) {
    return std::ranges::count_if(slices, [](const auto& slice) { return slice.held.unit->frozen; });
  };
  checkpoint::Manifest frozen, borrowed;
  state::describe_slices(plan, 2, parts, frozen);
  EXPECT_GT(of_frozen(state::saved_slices(plan, 0, parts)), 1);
  EXPECT_GT(of_frozen(state::loaded_slices(plan, 0)), 1);
  for (plan::Unit& unit : plan.units) unit.borrowed = unit.frozen;
  int64_t count = 0;
  for (graph::Parameter& parameter : plan.graphs[0].parameters)
    count += parameter.borrowed = parameter.frozen;
  EXPECT_EQ(of_frozen(state::saved_slices(plan, 0, parts)), 0);
  EXPECT_EQ(of_frozen(state::loaded_slices(plan, 0)), 0);
  state::describe_slices(plan, 2, parts, borrowed);
  EXPECT_EQ(borrowed.tensors.size(), frozen.tensors.size() - size_t(count));
  EXPECT_EQ(state::other_freeze(plan, borrowed), "");
  state::require_loadable(plan, borrowed, "step");
}

/// A device's memory is read as a disk is: by calls.
TEST(LivePayload, ReadsADeviceThatTheHostMayNotTouch) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const setup::Build made = build_of(kNone, compute);
    const auto parts = setup::saved_parts(made.plan, false);
    RankWithDisk rank(made.plan);
    rank.fill(1);
    const state::StateView near = rank.view();
    state::StateView far = near;
    far.device_apart = true;
    far.read_far = [&](int32_t buffer, int64_t offset, std::span<std::byte> out) {
      std::ranges::copy(near.bytes(buffer).subspan(size_t(offset), out.size()), out.begin());
    };
    SliceReader of_near, of_far(Place::pinned);
    LivePayload expected(near, parts, of_near), found(far, parts, of_far);
    EXPECT_EQ(pieces_of(found), pieces_of(expected)) << name_of(compute);
  }
}

}  // namespace
}  // namespace zero::save
