// Ranks: 1
#include "zero/base/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace zero {
namespace {

TEST(Team, EachMemberWorksOnceTheFirstOnTheCallersThread) {
  std::atomic<int> sum{0};
  std::thread::id first;
  in_team(4, [&](int member) {
    sum += 1 << (8 * member);
    if (member == 0) first = std::this_thread::get_id();
  });
  EXPECT_EQ(sum, 0x01010101);
  EXPECT_EQ(first, std::this_thread::get_id());
}

TEST(Team, MembersWorkAtOneTime) {
  std::atomic<int> here{0};
  in_team(3, [&](int) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

TEST(Team, WhatAMemberThrowsIsThrownWhenAllHaveEnded) {
  for (const int failing : {0, 2}) {
    std::atomic<int> ended{0};
    const auto work = [&](int member) {
      if (member == failing) throw std::runtime_error("no");
      ++ended;
    };
    EXPECT_THROW(in_team(3, work), std::runtime_error);
    EXPECT_EQ(ended, 2);
  }
}

}  // namespace
}  // namespace zero
