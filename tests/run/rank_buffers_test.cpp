// Ranks: 1

#include "src/run/rank_buffers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/hand_plan.hpp"
#include "zero/base/error.hpp"

namespace zero::run {
namespace {

using plan::Tier;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string>& told() {
  static std::vector<std::string> lines;
  return lines;
}

alignas(64) std::byte shared_memory[1 << 16];

void give_back(std::byte* block) noexcept {
  EXPECT_EQ(block, shared_memory);
  told().push_back("memory ends");
}

class ToldWindow final : public comm::Window {
 public:
  explicit ToldWindow(std::string name) : name_(std::move(name)) {}
  ~ToldWindow() override { told().push_back(name_ + "'s window ends"); }

 private:
  std::string name_;
};

/// Has memory of its own kind, and says what is asked of it.
class SharingComm final : public comm::Communicator {
 public:
  SharingComm(std::string name, int ranks) : name_(std::move(name)), ranks_(ranks) {}

  int rank() const override { return 0; }
  int ranks() const override { return ranks_; }
  std::string_view backend() const override { return name_; }
  Arena take_arena(int64_t bytes) const override {
    EXPECT_LE(bytes, int64_t(sizeof shared_memory));
    told().push_back(name_ + " gives memory");
    return {shared_memory, bytes, &give_back};
  }
  std::unique_ptr<comm::Window> open_window(const Arena& block) override {
    EXPECT_EQ(block.data(), shared_memory);
    told().push_back(name_ + " opens a window");
    return std::make_unique<ToldWindow>(name_);
  }

  void all_gather(Stream&, Dtype, const comm::Piece&, const void*, void*) override {}
  void reduce_scatter(Stream&, const Reduction&, const comm::Piece&, const void*, void*) override {}
  void all_reduce(Stream&, std::span<int64_t>) override {}
  void broadcast(Stream&, std::span<std::byte>, int) override {}
  void barrier() override {}

 private:
  std::string name_;
  int ranks_;
};

struct Lanes {
  SharingComm gather, reduce;
  LaneComms comms{};
  explicit Lanes(int ranks) : gather("gather", ranks), reduce("reduce", ranks) {
    comms[size_t(plan::Lane::gather)] = &gather;
    comms[size_t(plan::Lane::reduce)] = &reduce;
    told().clear();
  }
};

TEST(TierArenas, take_memory_that_peers_reach_and_close_every_window_before_it_ends) {
  const testing::HandPlan hand;
  Lanes lanes(2);
  {
    TierArenas arenas(hand.plan, lanes.comms);
    EXPECT_THAT(told(), ElementsAre("gather gives memory"))
        << "no window before all ranks are here";
    EXPECT_EQ(arenas.of(Tier::device).data(), shared_memory);
    EXPECT_EQ(arenas.of(Tier::device).bytes(), hand.plan.arena_bytes[size_t(Tier::device)]);
    EXPECT_EQ(arenas.of(Tier::nvme).bytes(), 0);
    arenas.open_windows();
    told().erase(told().begin());
    EXPECT_THAT(told(), ElementsAre("gather opens a window", "reduce opens a window"));
    told().clear();
  }
  ASSERT_EQ(told().size(), 3u);
  EXPECT_EQ(told().back(), "memory ends");
}

TEST(TierArenas, pin_host_memory_unless_they_are_told_not_to) {
  testing::HandPlan hand;
  EXPECT_EQ(host_place(hand.plan), Place::pinned);
  hand.plan.request.pinned_host = false;
  EXPECT_EQ(host_place(hand.plan), Place::host);
}

TEST(TierArenas, of_a_rank_alone_are_its_own) {
  const testing::HandPlan hand;
  Lanes lanes(1);
  TierArenas arenas(hand.plan, lanes.comms);
  arenas.open_windows();
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(arenas.of(Tier::device).bytes(), hand.plan.arena_bytes[size_t(Tier::device)]);
}

/// A plan with tokens, a state and weights, and its memory.
struct Mailed {
  testing::HandPlan hand;
  int32_t weights = hand.keep("weights", 64);
  Arena arena;
  RankMemory memory;
  Stream stream{1};
  Mailed() {
    hand.input("tokens", 32);
    hand.input("targets", 32);
    hand.plan.step_state = hand.keep("state", 16);
    arena = Arena(hand.plan.arena_bytes[0]);
    memory.base[0] = arena.data();
  }
  std::span<std::byte> there(int32_t buffer) const {
    return buffer_bytes(hand.plan, memory, buffer);
  }
};

TEST(HostMail, BringsWhatWasWrittenToItsBuffer) {
  Mailed mailed;
  HostMail mail(mailed.hand.plan, mailed.memory);
  const plan::Plan& plan = mailed.hand.plan;
  const int32_t first = plan.input(0, "tokens").buffer, second = plan.input(0, "targets").buffer;
  std::ranges::fill(mail.slot(first, mailed.stream), std::byte{1});
  std::ranges::fill(mail.slot(second, mailed.stream), std::byte{2});
  mail.send(second, 0, 32, mailed.stream);
  mail.send(first, 0, 16, mailed.stream);
  mailed.stream.wait();
  EXPECT_EQ(std::ranges::count(mailed.there(first), std::byte{1}), 16);
  EXPECT_EQ(std::ranges::count(mailed.there(second), std::byte{2}), 32);
  mail.arrived();
}

TEST(HostMail, FetchesTheStateAndHasNoSlotForItNorForWhatItDoesNotCarry) {
  Mailed mailed;
  HostMail mail(mailed.hand.plan, mailed.memory);
  EXPECT_TRUE(mail.slot(mailed.weights, mailed.stream).empty());
  EXPECT_TRUE(mail.slot(mailed.hand.plan.step_state, mailed.stream).empty());
  EXPECT_THROW(mail.send(mailed.weights, 0, 8, mailed.stream), Error);
  std::ranges::fill(mailed.there(mailed.hand.plan.step_state), std::byte{7});
  mail.fetch_state(mailed.stream);
  mailed.stream.wait();
  EXPECT_EQ(std::ranges::count(mail.state(), std::byte{7}), 16);
}

TEST(HostMail, WithoutBuffersCarriesNothing) {
  HostMail mail;
  Stream stream(1);
  EXPECT_TRUE(mail.slot(0, stream).empty());
  EXPECT_TRUE(mail.state().empty());
  mail.fetch_state(stream);
}

}  // namespace
}  // namespace zero::run
