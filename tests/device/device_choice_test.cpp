// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "zero/device/device.hpp"

namespace zero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A node whose ranks all see the same devices.
NodeDevices node_of(size_t ranks, const std::vector<std::string>& devices, bool share = false) {
  return {.host = "n1",
          .of_rank = std::vector<std::vector<std::string>>(ranks, devices),
          .trouble = "no driver",
          .share = share};
}

std::vector<int> choices(const NodeDevices& node) {
  std::vector<int> chosen;
  for (size_t rank = 0; rank < node.of_rank.size(); ++rank)
    chosen.push_back(choose_device(node, int(rank)));
  return chosen;
}

std::string refusal(const NodeDevices& node, int rank) {
  return testing_support::refusal_of(Exit::kUsage, [&] { choose_device(node, rank); });
}

TEST(DeviceChoice, RankOfTheNodeNamesTheDevice) {
  EXPECT_EQ(choices(node_of(1, {"a", "b"})), (std::vector{0}));
  EXPECT_EQ(choices(node_of(3, {"a", "b", "c", "d"})), (std::vector{0, 1, 2}));
  EXPECT_FALSE(shares_devices(node_of(3, {"a", "b", "c"})));
}

TEST(DeviceChoice, ARankThatIsShownOneDeviceGetsThatOne) {
  NodeDevices node = node_of(3, {});
  node.of_rank = {{"c"}, {"a"}, {"b"}};
  EXPECT_EQ(choices(node), (std::vector{0, 0, 0}));
  EXPECT_FALSE(shares_devices(node));
}

TEST(DeviceChoice, OverlappingViewsLeadToDifferentDevices) {
  NodeDevices node = node_of(2, {});
  node.of_rank = {{"a", "b"}, {"a", "b", "c"}};
  EXPECT_EQ(choices(node), (std::vector{0, 1}));
}

TEST(DeviceChoice, FewerDevicesThanRanksAreRefusedUnlessShared) {
  EXPECT_THAT(refusal(node_of(4, {"a", "b"}), 0),
              AllOf(HasSubstr("4 ranks on n1"), HasSubstr("2 GPUs"), HasSubstr("start 2 there"),
                    HasSubstr("run.share_device = true")));
  EXPECT_EQ(refusal(node_of(4, {"a", "b"}), 0), refusal(node_of(4, {"a", "b"}), 3))
      << "every rank refuses, with the same words";
  const NodeDevices shared = node_of(4, {"a", "b"}, true);
  EXPECT_EQ(choices(shared), (std::vector{0, 1, 0, 1}));
  EXPECT_TRUE(shares_devices(shared));
}

TEST(DeviceChoice, PartsOfOneCardAreDevicesOfTheirOwnOnOneCard) {
  const NodeDevices parts = node_of(2, {"0000:3b:00.0 a", "0000:3b:00.0 b"});
  EXPECT_FALSE(shares_devices(parts));
  EXPECT_TRUE(shares_cards(parts));
  EXPECT_FALSE(shares_cards(node_of(2, {"0000:3b:00.0 a", "0000:5e:00.0 b"})));
  EXPECT_FALSE(shares_cards(node_of(1, {"0000:3b:00.0 a", "0000:3b:00.0 b"})));
}

TEST(DeviceChoice, LeaveToShareChangesNothingWhereDevicesSuffice) {
  EXPECT_EQ(choices(node_of(2, {"a", "b"}, true)), (std::vector{0, 1}));
  EXPECT_FALSE(shares_devices(node_of(2, {"a", "b"}, true)));
}

TEST(DeviceChoice, OneDeviceShownToTwoRanksIsNotTwoDevices) {
  NodeDevices node = node_of(2, {"a"});
  EXPECT_THAT(refusal(node, 1), HasSubstr("1 GPU "));
  node.share = true;
  EXPECT_EQ(choices(node), (std::vector{0, 0}));
}

TEST(DeviceChoice, WithoutADeviceItSaysWhyAndWhatWorks) {
  for (const bool share : {false, true}) {
    EXPECT_THAT(refusal(node_of(1, {}, share), 0),
                AllOf(HasSubstr("no usable CUDA device found on n1 (no driver)"),
                      HasSubstr("host-release"), HasSubstr("zeroapp plan")));
  }
}

TEST(DeviceChoice, RanksThatSeeOneDeviceEachAreWarnedOf) {
  NodeDevices node = node_of(3, {});
  node.of_rank = {{"c"}, {"a"}, {"b"}};
  EXPECT_THAT(hidden_devices_warning(node),
              AllOf(HasSubstr("each of the 3 ranks on n1 sees one GPU alone"),
                    HasSubstr("srun --gpu-bind=none with --gpus-per-node")));
  node.of_rank[1] = {"a", "b"};
  EXPECT_EQ(hidden_devices_warning(node), "") << "a rank sees another's";
  node.of_rank = {{"a"}, {"a"}, {"b"}};
  EXPECT_EQ(hidden_devices_warning(node), "") << "ranks share one";
  EXPECT_EQ(hidden_devices_warning(node_of(1, {"a"})), "") << "nobody else is there";
  EXPECT_EQ(hidden_devices_warning(node_of(2, {})), "");
  EXPECT_EQ(hidden_devices_warning(node_of(2, {"a", "b"})), "");
}

TEST(DeviceChoice, AFaultOfTheNodeHasItsOwnStatus) {
  NodeDevices node = node_of(1, {});
  node.exit = Exit::kDevice;
  node.trouble = "system not yet initialized - start again on another node";
  EXPECT_EQ(testing_support::refusal_of(Exit::kDevice, [&] { choose_device(node, 0); }),
            "no usable CUDA device found on n1: system not yet initialized - start again on "
            "another node");
}

TEST(AddressSpace, ALimitOfItIsToldWhereCudaDoesNotStart) {
  EXPECT_EQ(address_space_hint(-1), "");
  EXPECT_THAT(address_space_hint(int64_t(3) << 30),
              AllOf(HasSubstr("3072 MiB"), HasSubstr("ulimit -v unlimited")));
}

TEST(CoreChoice, TakesTheNearOnesOfThoseAllowed) {
  EXPECT_THAT(choose_cores({0, 1, 2, 3, 4, 5}, {2, 3, 8}).cores, ElementsAre(2, 3));
  EXPECT_EQ(choose_cores({0, 1, 2, 3, 4, 5}, {2, 3, 8}).words, "2 cores near it");
  EXPECT_EQ(choose_cores({3}, {2, 3}).words, "1 core near it");
}

TEST(CoreChoice, LeavesALauncherItsWord) {
  EXPECT_THAT(choose_cores({0, 1}, {4, 5}).cores, ElementsAre(0, 1));
  EXPECT_EQ(choose_cores({0, 1}, {4, 5}).words, "2 cores, none of them near it");
  EXPECT_THAT(choose_cores({0, 1}, {}).cores, ElementsAre(0, 1));
  EXPECT_EQ(choose_cores({0, 1}, {}).words, "2 cores");
}

}  // namespace
}  // namespace zero
