// Ranks: 1

#include "kernels/support/segment_table.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace zero::kernels
