// Ranks: 1
#include "src/launch/lost_links.hpp"

#include <gtest/gtest.h>

namespace zero::launch {
namespace {

TEST(LostLinks, AreNoneWhereAllAnswer) {
  const Links links = links_of("n1", {{"192.0.2.1", "n2"}});
  EXPECT_TRUE(links.lost.empty());
  EXPECT_EQ(links.queued_bytes, 0) << "there is no connection to it";
}

}  // namespace
}  // namespace zero::launch
