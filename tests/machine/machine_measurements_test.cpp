// Ranks: 1
#include <gtest/gtest.h>

#include "src/machine/probes.hpp"

namespace zero::machine {
namespace {

TEST(NodePosition, CountsRanksOfEachHostInTheirOrder) {
  const std::vector<std::string> hosts = {"b", "a", "b", "a"};
  const NodePosition last = position_of(hosts, 3);
  EXPECT_EQ(last.nodes, 2);
  EXPECT_EQ(last.node_ranks, 2);
  EXPECT_EQ(last.node, 1) << "a is the second host that a rank names";
  EXPECT_EQ(last.on_node, 1);
  EXPECT_EQ(position_of(hosts, 0).node, 0);
  EXPECT_EQ(position_of(hosts, 0).on_node, 0);
}

TEST(NodePosition, OfUnequalNodesHasNoNumberOfRanks) {
  EXPECT_EQ(position_of({"a", "a", "b"}, 2).node_ranks, 0);
  EXPECT_EQ(position_of({"a", "a"}, 1).nodes, 1);
}

}  // namespace
}  // namespace zero::machine
