// Ranks: 1
#include "zero/base/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

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

TEST(Connections, AreMuteIfTheySendAgainAndAgain) {
  const std::string table = kHead + line("02004E0A", "01", "01", "00000004");
  const auto found = connections_in(table);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].own, "10.78.0.1");
  EXPECT_EQ(found[0].peer, "10.78.0.2");
  EXPECT_EQ(found[0].queued_bytes, 256);
  EXPECT_TRUE(found[0].is_mute);
}

TEST(Connections, AreNotMuteIfTheyLostAPacketOrHaveNothingToSend) {
  for (const auto& [timer, again] :
       {std::pair{"01", "00000001"}, {"00", "00000004"}, {"02", "00000004"}}) {
    const auto found = connections_in(kHead + line("02004E0A", "01", timer, again));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].is_mute) << timer << again;
  }
}

TEST(Connections, AreNotThoseThatEndOrWaitForOthers) {
  for (const char* state : {"06", "0A", "04"}) {
    EXPECT_TRUE(connections_in(kHead + line("02004E0A", state, "01", "00000004")).empty());
  }
  EXPECT_TRUE(connections_in("").empty());
  EXPECT_TRUE(connections_in("no table\n").empty());
}

TEST(Connections, HaveAddressesOfBothSorts) {
  const std::string six = "000080FE00000000FF005450B6AD7EFE",
                    mapped = "0000000000000000FFFF000002004E0A";
  EXPECT_EQ(connections_in(line(six, "01", "01", "0000000A"))[0].peer, "fe80::5054:ff:fe7e:adb6");
  EXPECT_EQ(connections_in(line(mapped, "02", "01", "00000003"))[0].peer, "10.78.0.2");
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
