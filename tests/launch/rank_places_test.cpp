// Ranks: 1
#include "zero/launch/rank_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_node.hpp"

namespace zero::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::MadeNode;

using Places = std::vector<RankPlace>;

Numbers from(int first, int count) {
  Numbers numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + i);
  return numbers;
}

/// Four ranks on a node of two sockets and four devices, each with these cores of its launcher,
/// which it also takes.
Places four_with_devices(const std::vector<Numbers>& cores) {
  const MadeNode made("places");
  Places places;
  for (size_t rank = 0; rank < cores.size(); ++rank) {
    places.push_back(place_of(made.parts(), {.host = "n1",
                                             .device = MadeNode::kDevices[rank],
                                             .allowed = cores[rank],
                                             .cores = cores[rank]}));
  }
  return places;
}

/// Ranks on these nodes, each with all of its node's cores.
Places on(const std::vector<std::string>& hosts, int cores = 4) {
  Places places;
  for (const std::string& host : hosts) {
    const Numbers all = from(0, cores);
    places.push_back({.host = host, .allowed = all, .cores = all, .node_cores = all});
  }
  return places;
}

Places bound(const std::vector<Numbers>& cores, int of_node) {
  Places places = on(std::vector<std::string>(cores.size(), "n1"), of_node);
  for (size_t rank = 0; rank < cores.size(); ++rank) {
    places[rank].allowed = places[rank].cores = cores[rank];
  }
  return places;
}

TEST(RankPlace, IsWhatTheNodeTells) {
  const Places places = four_with_devices({from(0, 4), from(4, 4), from(8, 4), from(12, 4)});
  EXPECT_EQ(places[2].device_numa_node, 1);
  EXPECT_THAT(places[2].device_sockets, ElementsAre(1));
  EXPECT_THAT(places[2].sockets, ElementsAre(1));
  EXPECT_THAT(places[2].numa_nodes, ElementsAre(1));
  EXPECT_THAT(places[2].memory_nodes, ElementsAre(1));
  EXPECT_EQ(places[2].node_cores.size(), 16u);
  const std::string table = placement_table(places);
  EXPECT_THAT(table, HasSubstr("2     n1             0000:AF:00.0 (1)      1     1       8-11\n"));
  EXPECT_THAT(placement_faults(places), IsEmpty());
}

TEST(RankPlace, TakesMemoryWhereItMay) {
  const MadeNode made("memory");
  made.write("proc/self/status", "Mems_allowed_list:\t0");
  const RankPlace place = place_of(made.parts(), {.host = "n1", .cores = from(8, 8)});
  EXPECT_THAT(place.numa_nodes, ElementsAre(1));
  EXPECT_THAT(place.memory_nodes, ElementsAre(0));
}

TEST(RankPlace, TravelsAsText) {
  const RankPlace place = four_with_devices({from(0, 4), {5}})[1];
  const RankPlace back = unpack_place(pack_place(place));
  EXPECT_EQ(back.host, "n1");
  EXPECT_EQ(back.device, MadeNode::kDevices[1]);
  EXPECT_EQ(back.device_numa_node, 0);
  EXPECT_THAT(back.device_sockets, ElementsAre(0));
  EXPECT_THAT(back.allowed, ElementsAre(5));
  EXPECT_THAT(back.cores, ElementsAre(5));
  EXPECT_THAT(back.sockets, ElementsAre(0));
  EXPECT_THAT(back.numa_nodes, ElementsAre(0));
  EXPECT_THAT(back.memory_nodes, ElementsAre(0));
  EXPECT_EQ(back.node_cores, place.node_cores);
}

TEST(Placement, RefusesRanksOnOneCoreBesideOthersWithTheirOwn) {
  const auto faults = placement_faults(bound({{0}, {1}, {1}}, 4));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].is_refused);
  EXPECT_EQ(faults[0].what, "ranks 1 and 2 of node n1 share core 1, of 4 there");
  EXPECT_THAT(faults[0].advice, AllOf(HasSubstr("--bind-to none"), HasSubstr("-per-task=1")));
}

TEST(Placement, WarnsOfAllRanksOnOneCore) {
  const auto faults = placement_faults(bound({{2}, {2}, {2}, {2}}, 16));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_FALSE(faults[0].is_refused) << "a user may mean it, as by taskset";
  EXPECT_EQ(faults[0].what, "ranks 0, 1, 2 and 1 more of node n1 share core 2, of 16 there");
  EXPECT_THAT(faults[0].advice, HasSubstr("--cpus-per-task=4"));
}

TEST(Placement, CountsLikeFaultsOfOtherNodes) {
  Places places = bound({{0}, {0}, {1}, {1}}, 4);
  places[2].host = places[3].host = "n2";
  const auto faults = placement_faults(places);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0].what, HasSubstr("of node n1 share core 0, of 4 there; 1 other group"));
}

TEST(Placement, LetsRanksShareCoresThatAreEnough) {
  EXPECT_THAT(placement_faults(bound({{0, 1}, {0, 1}}, 2)), IsEmpty()) << "a laptop";
  EXPECT_THAT(placement_faults(bound({{0, 1}, {0, 1}, {2, 3}}, 4)), IsEmpty()) << "by socket";
  EXPECT_THAT(placement_faults(bound({{0}, {1}, {0}}, 2)), IsEmpty()) << "more ranks than cores";
  EXPECT_THAT(placement_faults(bound({{0, 1}, {0, 1}, {0, 1}, {0, 1}}, 2)), IsEmpty());
  EXPECT_THAT(placement_faults(bound({{}, {}}, 0)), IsEmpty()) << "nothing is known";
}

TEST(Placement, WarnsOfCoresAtAnotherSocketThanTheDevice) {
  const auto faults = placement_faults(four_with_devices({from(8, 4), {1}, {2}, from(12, 4)}));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_FALSE(faults[0].is_refused);
  EXPECT_EQ(faults[0].what,
            "rank 0 of node n1 drives 0000:3B:00.0 at socket 0 from cores 8-11 of socket 1; 1 "
            "other rank likewise");
  EXPECT_THAT(placement_faults(four_with_devices({from(4, 8), {1}, {8}, from(12, 4)})), IsEmpty())
      << "cores at both sockets";
}

TEST(Placement, WarnsOfRanksThatAreNoNeighboursAndOfUnequalNodes) {
  const auto cyclic = placement_faults(on({"n1", "n2", "n1", "n2"}));
  ASSERT_EQ(cyclic.size(), 1u);
  EXPECT_FALSE(cyclic[0].is_refused);
  EXPECT_EQ(cyclic[0].what, "ranks 0 and 2 of node n1 are no neighbours");
  EXPECT_THAT(cyclic[0].advice, HasSubstr("srun --distribution=block"));
  const auto unequal = placement_faults(on({"n1", "n1", "n1", "n2"}));
  ASSERT_EQ(unequal.size(), 1u);
  EXPECT_EQ(unequal[0].what, "node n1 has 3 ranks, node n2 has 1");
  EXPECT_THAT(placement_faults(on({"n1", "n1", "n2", "n2"})), IsEmpty());
  EXPECT_THAT(placement_faults({}), IsEmpty());
}

}  // namespace
}  // namespace zero::launch
