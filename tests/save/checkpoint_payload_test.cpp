// Ranks: 1

#include "src/save/checkpoint_payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/held_state.hpp"
#include "tests/support/models.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/base/align.hpp"

namespace zero::save {
namespace {

using testing::tiny;

struct Homes {
  Home states, parameters;
};
constexpr Homes kAll = {Home::nvme, Home::nvme}, kStates = {Home::nvme, Home::none},
                kParameters = {Home::cpu, Home::nvme}, kNone = {Home::cpu, Home::none};

RunConfig config_of(Homes homes, Dtype compute) {
  RunConfig config = tiny(3, compute);
  config.model.numbers.counts["vocab_size"] = 3000;  // pieces of many blocks
  config.zero.stage3_param_persistence_threshold = 0;
  config.offload_optimizer.device = homes.states;
  config.offload_param.device = homes.parameters;
  config.checkpoint.async = true;
  config.checkpoint.interval = 1;  // else synthetic data save nothing
  return config;
}

setup::Build build_of(Homes homes, Dtype compute) {
  return setup::build(config_of(homes, compute), {2, 1});
}

TEST(FrozenDisk, HasTwoSlotsOfWhatASaveReadsThere) {
  for (const Homes homes : {kAll, kStates, kParameters}) {
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

/// The state of one rank, in memory and on a disk of its own.
class Rank {
 public:
  explicit Rank(const plan::Plan& plan)
      : plan_(plan),
        held_(plan, 1),
        disk_(std::make_shared<state::Disk>(
            state::DiskHomes{.folders = {place_.path()}},
            plan.arena_bytes[size_t(plan::Tier::nvme)],
            setup::saved_on_disk(plan, setup::saved_parts(plan, false)))),
        window_(plan, disk_->lanes(), std::span(memory_.data(), size_t(memory_.bytes()))) {}

  const std::shared_ptr<state::Disk>& disk() const { return disk_; }
  state::StateView view() {
    state::StateView view = held_.view();
    view.read_far = [this](int32_t buffer, int64_t offset, std::span<std::byte> out) {
      window_.read(buffer, offset, out);
    };
    return view;
  }
  /// Finite numbers in every state, others for another salt.
  void fill(uint32_t salt) {
    std::vector<std::byte> bytes;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const plan::Buffer& buffer = plan_.buffers[b];
      if (!buffer.persistent) continue;
      bytes.resize(size_t(buffer.bytes));
      for (std::byte& byte : bytes) byte = std::byte(salt++ % 61);
      if (setup::is_on_disk(plan_, int32_t(b))) {
        window_.write(int32_t(b), 0, bytes);
      } else {
        std::ranges::copy(bytes, held_.view().bytes(int32_t(b)).begin());
      }
    }
  }

 private:
  const plan::Plan& plan_;
  testing::Held held_;
  testing_support::TempFolder place_{"frozen"};
  std::shared_ptr<state::Disk> disk_;
  Arena memory_{int64_t(1) << 20};
  run::DiskWindow window_;
};

std::vector<std::vector<std::byte>> pieces_of(Payload& payload) {
  std::vector<std::vector<std::byte>> pieces;
  for (size_t i = 0; i < payload.pieces(); ++i) {
    const auto piece = payload.piece(i);
    pieces.emplace_back(piece.begin(), piece.end());
  }
  return pieces;
}

void rethrown(const std::exception_ptr& error) { std::rethrow_exception(error); }

TEST(PayloadCopy, HasOfFrozenUnitsTheirWeights) {
  RunConfig config = config_of(kStates, Dtype::bf16);
  config.model.freeze = {"wte.weight", "h.1.*"};
  const setup::Build made = setup::build(config, {2, 1});
  const auto parts = setup::saved_parts(made.plan, false);
  Rank rank(made.plan);
  rank.fill(1);
  FrozenDisk frozen(made.plan, parts);
  PayloadCopy copy(made.plan, parts);
  PieceReader reader;
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

/// A device's memory is read as a disk is: by calls.
TEST(LivePayload, ReadsADeviceThatTheHostMayNotTouch) {
  for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const setup::Build made = build_of(kNone, compute);
    const auto parts = setup::saved_parts(made.plan, false);
    Rank rank(made.plan);
    rank.fill(1);
    const state::StateView near = rank.view();
    state::StateView far = near;
    far.device_apart = true;
    far.read_far = [&](int32_t buffer, int64_t offset, std::span<std::byte> out) {
      std::ranges::copy(near.bytes(buffer).subspan(size_t(offset), out.size()), out.begin());
    };
    PieceReader of_near, of_far(Place::pinned);
    LivePayload expected(near, parts, of_near), found(far, parts, of_far);
    EXPECT_EQ(pieces_of(found), pieces_of(expected)) << name_of(compute);
  }
}

TEST(FrozenDisk, GivesASaveWhatItFoundWhateverIsWrittenMeanwhile) {
  for (const Homes homes : {kAll, kStates, kParameters}) {
    for (const Dtype compute : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const setup::Build made = build_of(homes, compute);
      Rank rank(made.plan);
      FrozenDisk frozen(made.plan, setup::saved_parts(made.plan, false));
      PayloadCopy copy(made.plan, setup::saved_parts(made.plan, false));
      for (const uint32_t save : {1, 2, 3}) {
        rank.fill(save);
        PieceReader reader;
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
  Rank rank(made.plan);
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
  Rank rank(made.plan);
  for (int i = 0; i < 2; ++i)
    FrozenDisk(made.plan, setup::saved_parts(made.plan, false)).freeze(rank.disk());
  EXPECT_EQ(rank.disk().use_count(), 1);
}

}  // namespace
}  // namespace zero::save
