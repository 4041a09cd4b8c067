// Ranks: 1
#include "src/launch/lost_links.hpp"

#include <gtest/gtest.h>

namespace zero::launch {
namespace {

TEST(LostLinks, AreNoneWhereAllAnswer) {
  EXPECT_TRUE(lost_links("n1", {{"192.0.2.1", "n2"}}).empty());
}

}  // namespace
}  // namespace zero::launch
