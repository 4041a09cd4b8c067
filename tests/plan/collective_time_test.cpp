// Ranks: 1

#include "src/plan/collective_time.hpp"

#include <gtest/gtest.h>

namespace zero::plan {
namespace {

/// 8 ranks on nodes of 2; a rank sends 10 bytes a second, a node 5.
Machine four_nodes() {
  return {.name = "test",
          .has_memory = true,
          .link_bandwidth = 10,
          .link_latency = 0,
          .gpus_per_node = 2,
          .node_link_bandwidth = 5,
          .node_ranks = 2};
}

constexpr double kHop = 1.4e-5;

double seconds_of(Kind kind, double part, const Machine& machine) {
  return collective_seconds({.kind = kind, .ranks = 8, .bytes = 7 * part}, machine);
}

TEST(CollectiveTime, OnOneNodeIsOfWhatARankSends) {
  Machine machine = four_nodes();
  machine.node_ranks = 8;
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce}) {
    EXPECT_EQ(seconds_of(kind, 100, machine), 70);
  }
  machine.node_ranks = 2;
  machine.node_link_bandwidth = 0;
  EXPECT_EQ(seconds_of(Kind::all_gather, 100, machine), 70) << "nobody knows of another link";
}

TEST(CollectiveTime, AGatherGoesAroundARingWhoseSlowestLinkIsThatOfANode) {
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 100, four_nodes()), 3 * kHop + 140);
  Machine wide = four_nodes();
  wide.node_link_bandwidth = 100;
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 100, wide), 3 * kHop + 70);
}

TEST(CollectiveTime, ASmallGatherOnManyNodesGoesUpAndDownATree) {
  Machine machine = four_nodes();
  machine.node_ranks = 1;
  machine.link_bandwidth = machine.node_link_bandwidth = 1e9;
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 1, machine), 6 * kHop + 16e-9);
  EXPECT_LT(seconds_of(Kind::all_gather, 1, machine), 7 * kHop) << "than around a ring";
}

TEST(CollectiveTime, WordsTakeTheFasterOfRingAndTree) {
  // A ring: 2 x 3 hops, 2 x 7/8 of 800 bytes at 5 a second; a tree: 2 x 2 hops, 2 x 800 bytes.
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_reduce, 800, four_nodes()), 6 * kHop + 280);
  EXPECT_NEAR(seconds_of(Kind::all_reduce, 1e-9, four_nodes()), 4 * kHop, 1e-8);
}

// 2 ranks of a node have 6 parts each for other nodes: 12 x 100 bytes at 5 a second.
TEST(CollectiveTime, ASumIsAnExchangeOfWhichMostLeavesTheNode) {
  EXPECT_DOUBLE_EQ(seconds_of(Kind::reduce_scatter, 100, four_nodes()), kHop + 240);
  Machine host = four_nodes();
  host.has_memory = false;
  host.borders = Borders{comm::Border{.node_ranks = 2}};
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 100, host), kHop + 240) << "as MPI's ranks gather";
}

// Hosts on nodes of two: 2 x 3 parts of 100 bytes leave a node at 5 a second.
TEST(CollectiveTime, InTwoLevelsAPartLeavesTheNodeOnceForEachOther) {
  Machine host = four_nodes();
  host.has_memory = false;
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 100, host), kHop + 120);
  EXPECT_DOUBLE_EQ(seconds_of(Kind::reduce_scatter, 100, host), kHop + 120);
  const Sending halves{
      .kind = Kind::reduce_scatter, .ranks = 8, .bytes = 7 * 100, .element_bytes = 2};
  EXPECT_DOUBLE_EQ(collective_seconds(halves, host), kHop + 240) << "sums travel in fp32";
  host.node_link_bandwidth = 1000;
  EXPECT_DOUBLE_EQ(seconds_of(Kind::all_gather, 100, host), kHop + 40) << "4 x 1 parts in the node";
}

TEST(Border, IsOfTwoLevelsForHostsOnEqualNodesOfAPowerOfTwo) {
  Machine machine = four_nodes();
  EXPECT_TRUE(border_of(machine, 8).gathers_once) << "NCCL goes around";
  EXPECT_FALSE(border_of(machine, 8).sums_once);
  machine.has_memory = false;
  EXPECT_TRUE(border_of(machine, 8).sums_once);
  EXPECT_FALSE(border_of(machine, 7).sums_once) << "one node has one";
  EXPECT_EQ(border_of(machine, 2).node_ranks, 0) << "one node";
  machine.node_ranks = 3;
  EXPECT_FALSE(border_of(machine, 9).sums_once);
  machine.node_ranks = 1;
  EXPECT_FALSE(border_of(machine, 8).sums_once);
}

}  // namespace
}  // namespace zero::plan
