// Ranks: 1
#include "zero/setup/groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::setup {
namespace {

using ::testing::HasSubstr;

int group_of(int64_t group, const World& world, int64_t stage = 3) {
  RunConfig config;
  config.zero.stage = stage;
  config.zero.shard_group = group;
  return group_ranks(config, world);
}

TEST(GroupRanks, AreThoseAskedForOrOfANode) {
  EXPECT_EQ(group_of(0, {.ranks = 8}), 0);
  EXPECT_EQ(group_of(4, {.ranks = 8}), 4);
  EXPECT_EQ(group_of(8, {.ranks = 8}), 0) << "one group is no group";
  EXPECT_EQ(group_of(4, {.ranks = 8}, 2), 0) << "stage 2 shards no weights";
  EXPECT_EQ(group_of(kGroupOfNode, {.ranks = 8, .node_ranks = 2}), 2);
  EXPECT_EQ(group_of(kGroupOfNode, {.ranks = 8}), 0) << "one node";
  EXPECT_EQ(group_of(4, {.ranks = 8, .node_ranks = 2}), 4) << "two nodes";
}

TEST(GroupRanks, AreRefusedWhereTheyFillNothing) {
  const auto refusal = [](int64_t group, const World& world) {
    return testing_support::refusal_of(Exit::kUsage, [&] { group_of(group, world); });
  };
  EXPECT_THAT(refusal(3, {.ranks = 8}), HasSubstr("8 ranks do not fill groups of 3; write a div"));
  EXPECT_THAT(refusal(16, {.ranks = 8}), HasSubstr("8 ranks do not fill groups of 16"));
  EXPECT_THAT(refusal(4, {.ranks = 12, .node_ranks = 6}),
              HasSubstr("groups of 4 ranks begin and end within nodes of 6"));
  EXPECT_THAT(refusal(kGroupOfNode, {.ranks = 8, .node_ranks = -1}), HasSubstr("different num"));
  EXPECT_THAT(refusal(kGroupOfNode, {.ranks = 8, .node_ranks = 1}), HasSubstr("zero.stage = 1"));
}

}  // namespace
}  // namespace zero::setup
