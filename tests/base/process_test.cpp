// Ranks: 1

#include "zero/base/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace zero {
namespace {

TEST(ProcessLimitDeathTest, OfAddressSpaceIsThatOfThisProcess) {
  const auto limited = [] {
    const rlimit space{rlim_t(1) << 45, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &space) != 0) std::exit(2);
    std::exit(process_limit(RLIMIT_AS) == int64_t(1) << 45 ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

/// Groups /job and /job/step/task, of which these have a limit.
class Groups {
 public:
  Groups(const std::string& job, const std::string& task) {
    std::filesystem::create_directories(root_ + "/job/step/task");
    std::ofstream(root_ + "/job/memory.max") << job << '\n';
    std::ofstream(root_ + "/job/step/task/memory.max") << task << '\n';
  }
  ~Groups() { std::filesystem::remove_all(root_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  int64_t limit_of(const std::string& group) const { return group_memory_limit(root_, group); }

 private:
  const std::string root_ = ::testing::TempDir() + "groups_of_process_test";
};

TEST(GroupMemoryLimit, IsTheLeastOfAGroupAndThoseAroundIt) {
  EXPECT_EQ(Groups("4096", "max").limit_of("/job/step/task"), 4096) << "as Slurm sets it";
  EXPECT_EQ(Groups("4096", "1024").limit_of("/job/step/task"), 1024);
  EXPECT_EQ(Groups("4096", "8192").limit_of("/job/step/task"), 4096);
}

TEST(GroupMemoryLimit, IsUnknownWhereNoGroupHasOne) {
  const Groups groups("max", "1024");
  EXPECT_EQ(groups.limit_of("/job/step"), -1);
  EXPECT_EQ(groups.limit_of("/"), -1);
  EXPECT_EQ(groups.limit_of("/elsewhere/../.."), -1);
  EXPECT_EQ(groups.limit_of(""), -1);
}

TEST(WouldGetDeathTest, IsTrueUpToTheLimitOfAddressSpace) {
  const auto limited = [] {
    constexpr int64_t kLimit = int64_t(1) << 45;
    const rlimit space{rlim_t(kLimit), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &space) != 0) std::exit(2);
    std::exit(would_get(kLimit / 2) && would_map(kLimit / 2) && !would_get(kLimit) &&
                      !would_map(kLimit)
                  ? 0
                  : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

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
