// Ranks: 1

#include "zero/plan/request.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace zero::plan {
namespace {

// Ranks 0 to 3 are one group, 4 to 7 the other. Rank 6 is the third of the second.
constexpr Groups kTwoOfFour{.ranks = 8, .group_ranks = 4};

TEST(Groups, KnowTheRanksOfEachTeam) {
  EXPECT_EQ(kTwoOfFour.count(), 2);
  EXPECT_EQ(kTwoOfFour.ranks_of(Team::all), 8);
  EXPECT_EQ(kTwoOfFour.ranks_of(Team::group), 4);
  EXPECT_EQ(kTwoOfFour.ranks_of(Team::across), 2);
}

TEST(Groups, NumberARankInEachTeam) {
  EXPECT_EQ(kTwoOfFour.place(Team::all, 6), 6);
  EXPECT_EQ(kTwoOfFour.place(Team::group, 6), 2);
  EXPECT_EQ(kTwoOfFour.place(Team::across, 6), 1);
  EXPECT_EQ(kTwoOfFour.part(Team::all, 6), 0);
  EXPECT_EQ(kTwoOfFour.part(Team::group, 6), 1) << "the second group";
  EXPECT_EQ(kTwoOfFour.part(Team::across, 6), 2) << "with rank 2";
}

// Weight shard 2 of four is shards 4 and 5 of eight.
TEST(Groups, CutStatesWithinTheWeightShardOfTheirRank) {
  EXPECT_EQ(kTwoOfFour.shard_of(2), 4);
  EXPECT_EQ(kTwoOfFour.shard_of(6), 5);
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(kTwoOfFour.shard_of(rank) / 2, kTwoOfFour.place(Team::group, rank));
    EXPECT_EQ(kTwoOfFour.holder_of(kTwoOfFour.shard_of(rank)), rank);
  }
}

TEST(Groups, OfAllRanksNumberShardsByRank) {
  const Groups one{.ranks = 8, .group_ranks = 8};
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(one.shard_of(rank), rank);
    EXPECT_EQ(one.holder_of(rank), rank);
  }
}

TEST(GroupedRequest, HasGroupsOnlyWhereThereAreSeveral) {
  EXPECT_FALSE((Request{.ranks = 8}.has_groups()));
  EXPECT_FALSE((Request{.ranks = 8, .group_ranks = 8}.has_groups()));
  EXPECT_TRUE((Request{.ranks = 8, .group_ranks = 4}.has_groups()));
}

TEST(GroupedRequest, CrossesOnceUnlessAReproducibleTreeForbidsIt) {
  Request request{.ranks = 4, .group_ranks = 2, .micro_batches = 3};
  EXPECT_TRUE(request.crosses_once());
  request.reproducible = true;
  EXPECT_FALSE(request.crosses_once()) << "3 x 2 samples are no subtree";
  request.micro_batches = 4;
  EXPECT_TRUE(request.crosses_once());
  request.group_ranks = 4;
  EXPECT_FALSE(request.crosses_once()) << "one group";
}

std::vector<int64_t> numbers_of(const Request& request, int rank) {
  std::vector<int64_t> numbers;
  for (int micro = 0; micro < request.micro_batches; ++micro)
    numbers.push_back(request.number_of(micro, rank));
  return numbers;
}

TEST(GroupedRequest, DealsAGroupTheLeavesOfASubtree) {
  Request request{.ranks = 4, .group_ranks = 2, .micro_batches = 2};
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(numbers_of(request, 1), (Numbers{1, 5})) << "in turn";
  request.reproducible = true;
  EXPECT_EQ(numbers_of(request, 0), (Numbers{0, 2}));
  EXPECT_EQ(numbers_of(request, 1), (Numbers{1, 3}));
  EXPECT_EQ(numbers_of(request, 2), (Numbers{4, 6}));
  EXPECT_EQ(numbers_of(request, 3), (Numbers{5, 7}));
}

TEST(GroupedRequest, DealsEveryMicroBatchOnce) {
  for (const int micro_batches : {1, 2, 3, 8}) {
    const Request request{
        .ranks = 8, .group_ranks = 2, .micro_batches = micro_batches, .reproducible = true};
    std::set<int64_t> all;
    for (int rank = 0; rank < 8; ++rank) {
      for (const int64_t number : numbers_of(request, rank)) all.insert(number);
    }
    EXPECT_EQ(int(all.size()), 8 * micro_batches);
    EXPECT_EQ(*all.rbegin(), 8 * micro_batches - 1);
  }
}

}  // namespace
}  // namespace zero::plan
