// Ranks: 1
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "src/run/rank_buffers.hpp"
#include "tests/support/hand_plan.hpp"
#include "zero/base/error.hpp"

namespace zero::run {
namespace {

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
