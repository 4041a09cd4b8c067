// Ranks: 1
#include "zero/train/batch_loader.hpp"

#include <gtest/gtest.h>

#include <set>

namespace zero::train {
namespace {

TEST(FirstPosition, GivesEverySampleOfAStepToOneMicroBatch) {
  const BatchSizes batch{.train = 24, .micro = 4, .accumulation = 2};
  std::set<int64_t> firsts;
  for (int64_t j = 0; j < 2; ++j) {
    for (int rank = 0; rank < 3; ++rank) firsts.insert(first_position(batch, 3, 5, j, rank));
  }
  EXPECT_EQ(firsts, (std::set<int64_t>{96, 100, 104, 108, 112, 116}));
}

TEST(FirstPosition, DealsMicroBatchesToTheRanksInTurn) {
  const BatchSizes batch{.train = 24, .micro = 4, .accumulation = 2};
  EXPECT_EQ(first_position(batch, 3, 1, 0, 0), 0);
  EXPECT_EQ(first_position(batch, 3, 1, 0, 2), 8);
  EXPECT_EQ(first_position(batch, 3, 1, 1, 0), 12);
  // The same samples on one rank, one after the other.
  const BatchSizes alone{.train = 24, .micro = 4, .accumulation = 6};
  EXPECT_EQ(first_position(alone, 1, 1, 3, 0), 12);
}

}  // namespace
}  // namespace zero::train
