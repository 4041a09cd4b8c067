// Ranks: 1

#include "zero/base/process_limits.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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

}  // namespace

}  // namespace zero
