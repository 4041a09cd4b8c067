// Ranks: 1

#include "kernels/support/segment_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace zero::kernels {
namespace {

/// The decay of element i; -1 where no segment has it.
float decay_of(const SegmentTable& table, int64_t i) {
  float decay = -1.0f;
  table.with_decay_of(i, i + 1, [&](float found) { decay = found; });
  return decay;
}

TEST(SegmentTable, GivesEachElementTheDecayOfItsSegment) {
  const std::vector<OptimizerSegment> segments{{0, 3, 0.5f}, {3, 4, 0.0f}, {6, 8, 0.25f}};
  const SegmentTable table(segments);
  const std::vector<float> expected = {0.5f, 0.5f, 0.5f, 0.0f, -1, -1, 0.25f, 0.25f, -1};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(decay_of(table, int64_t(i)), expected[i]);
}

TEST(SegmentTable, TellsRunsInOneSegmentFromRunsInSeveralAndInNone) {
  using Part = SegmentTable::Part;
  const SegmentTable table(std::vector<OptimizerSegment>{{8, 16, 0.5f}, {16, 20, 0.0f}});
  const auto part = [&](int64_t first, int64_t last) {
    float decay = -1.0f;
    const Part has = table.with_decay_of(first, last, [&](float found) { decay = found; });
    EXPECT_EQ(decay >= 0, has == Part::all);
    return has;
  };
  EXPECT_EQ(part(8, 16), Part::all);
  EXPECT_EQ(part(16, 20), Part::all);
  EXPECT_EQ(part(9, 10), Part::all);
  EXPECT_EQ(part(0, 8), Part::none);
  EXPECT_EQ(part(20, 28), Part::none);
  EXPECT_EQ(part(12, 20), Part::some) << "all its elements, but of two segments";
  EXPECT_EQ(part(0, 9), Part::some);
  EXPECT_EQ(part(19, 27), Part::some);
}

TEST(SegmentTable, HasRoomForItsMost) {
  std::vector<OptimizerSegment> segments;
  for (int s = 0; s < SegmentTable::kMost; ++s) segments.push_back({s, s + 1, float(s)});
  const SegmentTable table(segments);
  for (int s = 0; s < SegmentTable::kMost; ++s) EXPECT_EQ(decay_of(table, s), float(s));
  EXPECT_EQ(decay_of(SegmentTable({}), 0), -1.0f);
}

TEST(SegmentTable, ThatAreCutFromManySegmentsTakeEachElementOnceAndNoneBetweenThem) {
  std::vector<OptimizerSegment> segments;
  std::vector<float> expected(400, -1.0f), found(400, -1.0f);
  for (int64_t s = 0; s < 2 * SegmentTable::kMost + 1; ++s) {
    const int64_t begin = 10 * s + 3, end = begin + s % 8;  // one is empty
    segments.push_back({begin, end, float(s)});
    for (int64_t i = begin; i < end; ++i) expected[size_t(i)] = float(s);
  }
  int tables = 0;
  for_each_table(segments, [&](int64_t begin, int64_t end, const SegmentTable& table) {
    ++tables;
    for (int64_t i = begin; i < end; ++i) {
      table.with_decay_of(i, i + 1, [&](float decay) {
        EXPECT_EQ(found[size_t(i)], -1.0f) << i << " once";
        found[size_t(i)] = decay;
      });
    }
  });
  EXPECT_EQ(tables, 3);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace zero::kernels
