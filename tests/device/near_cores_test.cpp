// Ranks: 1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/tree_folder.hpp"
#include "zero/device/device.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kFirst = "0000:3b:00.0";
constexpr const char* kSecond = "0000:AF:00.0";
constexpr const char* kOnNone = "0000:00:01.0";

std::vector<int> near(const char* device) {
  return cores_near(device,
                    testing_support::tree_folder() / "tests/fixtures/machines/two_packages.xml");
}

TEST(NearCores, AreThoseOfTheNodeThatTheDeviceHangsOn) {
  const std::vector<int> first = {0, 1, 2, 3}, second = {4, 5, 6, 7}, unknown;
  EXPECT_EQ(near(kFirst), knows_machines() ? first : unknown);
  EXPECT_EQ(near(kSecond), knows_machines() ? second : unknown);
}

TEST(NearCores, AreUnknownWhereTheMachineDoesNotSay) {
  EXPECT_THAT(near(kOnNone), IsEmpty()) << "hangs on the machine as a whole";
  EXPECT_THAT(near("0000:3c:00.0"), IsEmpty());
  EXPECT_THAT(near("no bus"), IsEmpty());
  EXPECT_THAT(cores_near(kFirst, "no_such.xml"), IsEmpty());
  EXPECT_THAT(cores_near("ffff:ff:1f.0"), IsEmpty()) << "this host has no such device";
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
