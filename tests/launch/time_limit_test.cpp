// Ranks: 1
#include <gtest/gtest.h>

#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

using namespace std::chrono_literals;

const TimeLimit::Clock::time_point kStart{1000s};

TEST(TimeLimit, LeavesTwiceTheLongestStepBehindTheLastOne) {
  TimeLimit limit(100, kStart);
  for (const auto begin : {10s, 20s, 30s, 40s, 50s, 60s}) {
    EXPECT_FALSE(limit.is_last_step(kStart + begin));
  }
  EXPECT_TRUE(limit.is_last_step(kStart + 70s)) << "it ends at 80 s, and 20 s are left";
}

TEST(TimeLimit, RemembersTheLongestStep) {
  TimeLimit limit(100, kStart);
  EXPECT_FALSE(limit.is_last_step(kStart));
  EXPECT_FALSE(limit.is_last_step(kStart + 20s));
  EXPECT_FALSE(limit.is_last_step(kStart + 30s));
  EXPECT_TRUE(limit.is_last_step(kStart + 40s)) << "the next may take 20 s again";
}

TEST(TimeLimit, OneThatHasPassedAllowsASingleStep) {
  EXPECT_TRUE(TimeLimit(5, kStart).is_last_step(kStart + 6s));
}

TEST(TimeLimit, ZeroIsNoLimit) { EXPECT_FALSE(TimeLimit(0, kStart).is_last_step(kStart + 9h)); }

}  // namespace
}  // namespace zero::launch
