// Ranks: 1
#include "zero/launch/process_environment.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace zero::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

TEST(ProcessStart, IsBeforeNowAndStaysThere) {
  const Clock::time_point first = process_start();
  EXPECT_LT(first, Clock::now());
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(std::chrono::abs(process_start() - first), milliseconds(150));
}

TEST(ProcessStart, OfAChildIsWhenItWasForked) {
  const Clock::time_point before = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const Clock::time_point running = Clock::now();
    std::this_thread::sleep_for(milliseconds(100));
    const Clock::time_point start = process_start();
    _exit(before - milliseconds(20) < start && start < running + milliseconds(20) ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RequireOpenFiles, RaisesALimitAsFarAsIsWantedAndLeavesAHigherOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto with = [&](rlim_t files) {
    const rlimit asked{files, before.rlim_max};
    rlimit made{};
    setrlimit(RLIMIT_NOFILE, &asked);
    require_open_files();
    getrlimit(RLIMIT_NOFILE, &made);
    setrlimit(RLIMIT_NOFILE, &before);
    return made.rlim_cur;
  };
  const rlim_t raised = std::min<rlim_t>(16384, before.rlim_max);
  EXPECT_EQ(with(23), raised);
  EXPECT_EQ(with(1024), raised);
  EXPECT_EQ(with(before.rlim_max), std::max(raised, before.rlim_max));
}

}  // namespace
}  // namespace zero::launch
