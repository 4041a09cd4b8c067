// Ranks: 1
#include "zero/state/auditor.hpp"

#include <gtest/gtest.h>

namespace zero::state {
namespace {

TEST(Minority, IsTheRankThatTwoOthersContradict) {
  EXPECT_EQ(minority({.own = 1, .next = 2, .third = 2}), 0);
  EXPECT_EQ(minority({.own = 2, .next = 1, .third = 2}), 1);
  EXPECT_EQ(minority({.own = 2, .next = 2, .third = 1}), 2);
}

TEST(Minority, IsNobodyWhereNoTwoAgreeOrNoThirdIsThere) {
  EXPECT_EQ(minority({.own = 1, .next = 2, .third = 3}), std::nullopt);
  EXPECT_EQ(minority({.own = 1, .next = 2}), std::nullopt);
}

}  // namespace
}  // namespace zero::state
