// Ranks: 1

#include "kernels/support/segment_table.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/optimizer_state.hpp"

namespace zero::kernels {
namespace {

/// The decay of element i; -1 where no segment has it.
float decay_of(const SegmentTable& table, int64_t i) {
  float decay = -1.0f;
  table.with_decay_of(i, [&](float found) { decay = found; });
  return decay;
}

TEST(SegmentTable, GivesEachElementTheDecayOfItsSegment) {
  const std::vector<OptimizerSegment> segments{{0, 3, 0.5f}, {3, 4, 0.0f}, {6, 8, 0.25f}};
  const SegmentTable table(segments);
  const std::vector<float> expected = {0.5f, 0.5f, 0.5f, 0.0f, -1, -1, 0.25f, 0.25f, -1};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(decay_of(table, int64_t(i)), expected[i]);
}

TEST(SegmentTable, HasRoomForItsMost) {
  std::vector<OptimizerSegment> segments;
  for (int s = 0; s < SegmentTable::kMost; ++s) segments.push_back({s, s + 1, float(s)});
  const SegmentTable table(segments);
  for (int s = 0; s < SegmentTable::kMost; ++s) EXPECT_EQ(decay_of(table, s), float(s));
  EXPECT_EQ(decay_of(SegmentTable({}), 0), -1.0f);
}

TEST(SegmentTable, MoreThanOneTakesGiveTheBitsOfOneSegmentAndLeaveWhatIsBetweenThem) {
  constexpr int64_t kNumel = 4000;
  testing::OptimizerState<bf16> whole(kNumel), many(kNumel);
  const StepState step = testing::decision(1, 0.01f);
  const std::vector<OptimizerSegment> one{{0, 1000, 0.1f}, {1040, kNumel, 0.1f}};
  std::vector<OptimizerSegment> parts;
  for (int64_t begin = 0; begin < 1000; begin += 40) parts.push_back({begin, begin + 40, 0.1f});
  parts.push_back({1040, kNumel, 0.1f});
  for (auto* state : {&whole, &many}) state->new_gradient(1);
  Stream stream(2);
  adam(stream, AdamRule{}, one, &step, whole.from(0));
  adam(stream, AdamRule{}, parts, &step, many.from(0));
  stream.wait();
  EXPECT_TRUE(many.same_bits_as(whole));
  EXPECT_NE(many.momentum[999], 0.0f);
  EXPECT_EQ(many.momentum[1000], 0.0f);
}

}  // namespace
}  // namespace zero::kernels
