// Ranks: 1
#include "zero/base/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

namespace zero {
namespace {

constexpr const char* kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

/// A line of the kernel's table, of a connection from 10.78.0.1 to this peer.
std::string line(const std::string& peer, const std::string& state, const std::string& timer,
                 const std::string& again) {
  return "   0: 01004E0A:A000 " + peer + ":0400 " + state + " 00000100:00000000 " + timer +
         ":00000014 " + again + "     0        0 1234 2 0000000000000000 20 4 0 10 -1\n";
}

TEST(MuteConnections, SendAgainAndAgain) {
  const std::string table = kHead + line("02004E0A", "01", "01", "00000004");
  const auto mute = mute_connections(table);
  ASSERT_EQ(mute.size(), 1u);
  EXPECT_EQ(mute[0].own, "10.78.0.1");
  EXPECT_EQ(mute[0].peer, "10.78.0.2");
}

TEST(MuteConnections, AreNotThoseThatLostAPacketOrWait) {
  for (const auto& [state, timer, again] : {std::tuple{"01", "01", "00000001"},
                                            {"01", "00", "00000004"},
                                            {"01", "02", "00000004"},
                                            {"06", "01", "00000004"},
                                            {"0A", "01", "00000004"}}) {
    EXPECT_TRUE(mute_connections(kHead + line("02004E0A", state, timer, again)).empty())
        << state << timer << again;
  }
  EXPECT_TRUE(mute_connections("").empty());
  EXPECT_TRUE(mute_connections("no table\n").empty());
}

TEST(MuteConnections, HaveAddressesOfBothSorts) {
  const std::string six = "000080FE00000000FF005450B6AD7EFE",
                    mapped = "0000000000000000FFFF000002004E0A";
  EXPECT_EQ(mute_connections(line(six, "01", "01", "0000000A"))[0].peer, "fe80::5054:ff:fe7e:adb6");
  EXPECT_EQ(mute_connections(line(mapped, "02", "01", "00000003"))[0].peer, "10.78.0.2");
}

TEST(OwnAddresses, AreNotThoseOfTheNodeAlone) {
  const auto own = own_addresses();
  EXPECT_TRUE(std::ranges::none_of(
      own, [](const OwnAddress& each) { return each.address.starts_with("127."); }));
  EXPECT_TRUE(
      std::ranges::none_of(own, [](const OwnAddress& each) { return each.interface.empty(); }));
}

}  // namespace
}  // namespace zero
