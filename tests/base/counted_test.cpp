// Ranks: 1

#include <gtest/gtest.h>

#include "zero/base/text.hpp"

namespace zero {
namespace {

TEST(Counted, TakesAnSButForOne) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(-1, "rank"), "-1 ranks");
  EXPECT_EQ(counted(21, "micro-batch step"), "21 micro-batch steps");
}

}  // namespace
}  // namespace zero
