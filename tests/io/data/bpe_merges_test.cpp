// Ranks: 1

#include "io/data/bpe_merges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zero {
namespace {

using testing::ElementsAre;

/// What a list of merges, best first, makes of symbols.
std::vector<int32_t> merged(const std::vector<BpeMerge>& merges,
                            const std::vector<int32_t>& symbols) {
  MergeTable table(merges.size());
  for (uint32_t rank = 0; rank < merges.size(); ++rank)
    EXPECT_TRUE(table.add(merges[rank].left, merges[rank].right, rank));
  WordMerger merger(table, merges);
  std::vector<int32_t> out;
  merger.merge(symbols, out);
  return out;
}

TEST(BpeMerges, TakeThePairOfLeastRankFirst) {
  EXPECT_THAT(merged({{2, 3, 8}, {1, 2, 9}}, {1, 2, 3}), ElementsAre(1, 8));
  EXPECT_THAT(merged({{1, 2, 9}, {2, 3, 8}}, {1, 2, 3}), ElementsAre(9, 3));
}

TEST(BpeMerges, TakeTheLeftmostOfEqualPairs) {
  EXPECT_THAT(merged({{1, 1, 5}}, {1, 1, 1}), ElementsAre(5, 1));
  EXPECT_THAT(merged({{1, 1, 5}, {5, 5, 6}}, {1, 1, 1, 1, 1, 1, 1}), ElementsAre(6, 5, 1));
}

TEST(BpeMerges, MergeResultsWithBothNeighbours) {
  EXPECT_THAT(merged({{2, 3, 5}, {1, 5, 6}, {6, 4, 7}}, {1, 2, 3, 4}), ElementsAre(7));
  EXPECT_THAT(merged({{2, 3, 5}, {5, 4, 6}, {1, 6, 7}}, {1, 2, 3, 4}), ElementsAre(7));
}

TEST(BpeMerges, ForgetAPairWhoseSideIsMergedElsewhere) {
  // 1 2 waits at rank 1 when 2 3 is merged; what stands there then, 1 10, has its turn after 10 4.
  EXPECT_THAT(merged({{2, 3, 10}, {1, 2, 11}, {10, 4, 12}, {1, 10, 13}}, {1, 2, 3, 4}),
              ElementsAre(1, 12));
  // 2 3 waits at rank 1 when 1 2 is merged; 12 must still find 3 on its left.
  EXPECT_THAT(merged({{1, 2, 10}, {2, 3, 11}, {4, 5, 12}, {3, 12, 13}}, {1, 2, 3, 4, 5}),
              ElementsAre(10, 13));
}

TEST(BpeMerges, LeaveWhatHasNoMerge) {
  EXPECT_THAT(merged({}, {3, 1, 2}), ElementsAre(3, 1, 2));
  EXPECT_THAT(merged({{1, 2, 3}}, {}), ElementsAre());
  EXPECT_THAT(merged({{1, 2, 3}}, {1}), ElementsAre(1));
}

TEST(BpeMerges, TakeAWordOfAMillionSymbols) {
  // Twenty merges of equals: one symbol is left, and no time is quadratic.
  std::vector<BpeMerge> merges;
  for (int32_t i = 0; i < 20; ++i) merges.push_back({i, i, i + 1});
  EXPECT_THAT(merged(merges, std::vector<int32_t>(1 << 20, 0)), ElementsAre(20));
}

TEST(BpeMerges, TableRefusesAPairTwiceAndFindsNoOther) {
  MergeTable table(1000);
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_TRUE(table.add(int32_t(i % 40), int32_t(i), i));
  EXPECT_FALSE(table.add(39, 39, 7));
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(table.rank(int32_t(i % 40), int32_t(i)), i);
  EXPECT_EQ(table.rank(40, 40), MergeTable::kNone);
  EXPECT_EQ(table.rank(39, 40), MergeTable::kNone);
}

}  // namespace
}  // namespace zero
