// Ranks: 1

#include "zero/comm/thread_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "zero/base/error.hpp"

namespace zero::comm {
namespace {

TEST(ThreadGroup, WakesEveryWaitingRankWhenItIsAborted) {
  ThreadGroup group(3);
  std::atomic<int> woken{0};
  const auto wait_for_nobody = [&](int rank) {
    const auto comm = group.join(rank, 0);
    try {
      comm->barrier();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInternal);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("aborted"));
      ++woken;
    }
  };
  std::thread first(wait_for_nobody, 0), second(wait_for_nobody, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  group.abort();
  first.join();
  second.join();
  EXPECT_EQ(woken, 2);
}

TEST(ThreadGroup, HoldsARankThatCallsAfterTheAbort) {
  ThreadGroup group(2);
  group.abort();
  EXPECT_THROW(group.join(0, 0)->barrier(), Error);
}

TEST(ThreadGroup, LetsOneChannelGoOnWhileAnotherWaits) {
  ThreadGroup group(2);
  std::atomic<bool> passed{false};
  std::thread waiting([&] {
    group.join(0, 0)->barrier();
    EXPECT_TRUE(passed) << "channel 0 was let go by channel 1";
  });
  std::thread peer([&] { group.join(0, 1)->barrier(); });
  group.join(1, 1)->barrier();
  peer.join();
  passed = true;
  group.join(1, 0)->barrier();
  waiting.join();
}

TEST(ThreadGroup, LetsRanksComeBackToAChannel) {
  ThreadGroup group(2);
  for (int round = 0; round < 3; ++round) {
    std::thread peer([&] { group.join(1, 0)->barrier(); });
    group.join(0, 0)->barrier();
    peer.join();
  }
}

TEST(ThreadGroup, RefusesRanksItDoesNotHave) {
  EXPECT_THROW(ThreadGroup(0), Error);
  EXPECT_THROW(ThreadGroup(65), Error);
  ThreadGroup group(2);
  EXPECT_THROW(group.join(2, 0), Error);
  EXPECT_THROW(group.join(-1, 0), Error);
  EXPECT_EQ(group.join(1, 0)->ranks(), 2);
}

}  // namespace
}  // namespace zero::comm
