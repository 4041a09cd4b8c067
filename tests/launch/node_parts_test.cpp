// Ranks: 1
#include "zero/launch/node_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/made_node.hpp"
#include "zero/launch/cores.hpp"

namespace zero::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::MadeNode;

TEST(KernelLists, AreNumbersAndBack) {
  EXPECT_THAT(numbers_of("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(numbers_of("5"), ElementsAre(5));
  EXPECT_THAT(numbers_of("8,0-1,1"), ElementsAre(0, 1, 8)) << "ascending, each once";
  EXPECT_EQ(list_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(list_text({0, 1}), "0-1");
  EXPECT_EQ(list_text({}), "-");
}

TEST(KernelLists, OfAnotherFormAreEmpty) {
  for (const char* list : {"", "a", "1-", "-1", "1,x", "1 2", "0-99999999999"}) {
    EXPECT_THAT(numbers_of(list), IsEmpty()) << list;
  }
}

TEST(NodeParts, AreTheKernelsWord) {
  const MadeNode made("parts");
  const NodeParts node = made.parts();
  EXPECT_EQ(node.cores().size(), 16u);
  EXPECT_THAT(node.numa_nodes(), ElementsAre(0, 1));
  EXPECT_THAT(node.memory_nodes(), ElementsAre(0, 1));
  EXPECT_EQ(list_text(node.cores_of(1)), "8-15");
  EXPECT_THAT(node.numa_nodes_of({3, 9}), ElementsAre(0, 1));
  EXPECT_THAT(node.numa_nodes_of({9, 10}), ElementsAre(1));
  EXPECT_THAT(node.sockets_of({0, 7}), ElementsAre(0));
  EXPECT_THAT(node.sockets_of({7, 8}), ElementsAre(0, 1));
  EXPECT_EQ(node.numa_node_of(MadeNode::kDevices[0]), 0);
  EXPECT_EQ(node.numa_node_of(MadeNode::kDevices[2]), 1);
}

TEST(NodeParts, OfAContainerAreItsShare) {
  const MadeNode made("container");
  made.write("sys/fs/cgroup/cpuset.cpus.effective", "4-11");
  EXPECT_EQ(list_text(made.parts().cores()), "4-11");
}

TEST(NodeParts, AreUnknownWhereTheNodeDoesNotSay) {
  const MadeNode made("silent");
  made.write("sys/bus/pci/devices/0000:d8:00.0/numa_node", "-1");
  const NodeParts node = made.parts();
  EXPECT_EQ(node.numa_node_of(MadeNode::kDevices[3]), -1);
  EXPECT_EQ(node.numa_node_of("0000:00:00.0"), -1);
  EXPECT_THAT(node.cores_of(-1), IsEmpty());
  EXPECT_THAT(node.sockets_of({99}), IsEmpty());
  const NodeParts none("/no/such/folder");
  EXPECT_THAT(none.cores(), IsEmpty());
  EXPECT_THAT(none.numa_nodes(), IsEmpty());
  EXPECT_THAT(none.memory_nodes(), IsEmpty());
}

TEST(NodeParts, OfThisNodeHoldThisProcess) {
  const NodeParts node("");
  const Numbers cores = node.cores();
  for (const int core : allowed_cores().numbers) {
    EXPECT_NE(std::ranges::find(cores, core), cores.end()) << core;
  }
}

}  // namespace
}  // namespace zero::launch
