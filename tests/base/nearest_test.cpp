// Ranks: 1

#include <gtest/gtest.h>

#include "zero/base/text.hpp"

namespace zero {
namespace {

TEST(NearestKey, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("stage", "stgae"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestKey, StopsCountingWhereNobodyAsks) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 0), 1u);
  EXPECT_EQ(edit_distance("stage", "stgae", 1), 1u) << "a swap reaches back two rows";
  EXPECT_EQ(edit_distance("abcdef", "zyxwvu", 1), 2u);
}

}  // namespace
}  // namespace zero
