// Ranks: 1 2 4
#include "zero/launch/peers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "zero/base/error.hpp"
#include "zero/launch/watchdog.hpp"

namespace zero::launch {
namespace {

TEST(Peers, AgreeOnTheLargestTheSmallestAndTheSum) {
  const Peers peers;
  EXPECT_EQ(peers.largest(peers.rank()), peers.ranks() - 1);
  EXPECT_EQ(peers.smallest(peers.rank() + 5), 5);
  EXPECT_EQ(peers.sum(1.0), double(peers.ranks()));
}

TEST(Peers, ShareTextsOfDifferentLengthsByRank) {
  const Peers peers;
  const std::vector<std::string> all = peers.share(std::string(size_t(peers.rank()), 'x'));
  ASSERT_EQ(all.size(), size_t(peers.ranks()));
  for (size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], std::string(rank, 'x'));
  EXPECT_EQ(peers.gather("t").size(), peers.rank() == 0 ? all.size() : 0);
}

TEST(Peers, ShareWhatNobodySays) {
  const Peers peers;
  EXPECT_EQ(peers.share(""), std::vector<std::string>(size_t(peers.ranks())));
}

TEST(Peers, AgreeOnTheSmallestOfEachValue) {
  const Peers peers;
  std::vector<int32_t> values = {peers.rank(), 7 - peers.rank(), INT32_MAX};
  peers.smallest(values);
  EXPECT_EQ(values, (std::vector<int32_t>{0, 8 - peers.ranks(), INT32_MAX}));
}

TEST(Peers, OneVoteIsHeardByAll) {
  Peers peers;
  peers.cast_vote({.word = peers.rank() == peers.ranks() - 1 ? 15 : 0});
  EXPECT_EQ(peers.count_vote(), 15);
  peers.cast_vote({});
  EXPECT_EQ(peers.count_vote(), 0);
}

TEST(Peers, AVoteTellsTheTimesOfAllRanks) {
  Peers peers;
  const auto rank = float(peers.rank());
  peers.cast_vote({.word = -1, .compute_ms = 2 * rank, .waited_ms = rank});
  EXPECT_EQ(peers.count_vote(), -1);
  ASSERT_EQ(int(peers.ballots().size()), peers.ranks());
  for (int r = 0; r < peers.ranks(); ++r) {
    EXPECT_EQ(peers.ballots()[size_t(r)].compute_ms, 2 * float(r));
    EXPECT_EQ(peers.ballots()[size_t(r)].waited_ms, float(r));
  }
}

TEST(Peers, AWatchdogCountsTheTimeThatARankWaitsForOthers) {
  Peers peers;
  std::atomic<int> hangs{0};
  std::string said;
  Watchdog watchdog({.timeout_seconds = 0.08,
                     .finished = [] { return int64_t(0); },
                     .running = [] { return std::string("a body"); },
                     .on_hang =
                         [&](const std::string& what, double) {
                           said = what;
                           ++hangs;
                         }});
  peers.watch_with(&watchdog);
  const bool late = peers.rank() == peers.ranks() - 1;
  if (late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  peers.largest(0);
  peers.watch_with(nullptr);
  EXPECT_EQ(hangs, late ? 0 : 1) << "who sleeps waits for nobody";
  EXPECT_EQ(said, late ? "" : "MPI_Allreduce of all ranks");
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

TEST(Peers, WhoWaitsAsleepTakesNoCore) {
  Peers peers;
  {
    const Asleep asleep(peers);
    const double before = thread_seconds();
    if (peers.rank() == peers.ranks() - 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    EXPECT_EQ(peers.largest(peers.rank()), peers.ranks() - 1);
    EXPECT_LT(thread_seconds() - before, 0.2);
    EXPECT_TRUE(peers.wait_asleep());
  }
  EXPECT_FALSE(peers.wait_asleep(false)) << "no longer";
}

TEST(Peers, DoTheSameAsleep) {
  Peers peers;
  const Asleep asleep(peers);
  const int rank = peers.rank(), last = peers.ranks() - 1;
  const auto be_late = [&] {
    if (rank == last) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  peers.cast_vote({.word = rank == last ? 3 : 0});
  be_late();
  EXPECT_EQ(peers.share(text(rank)).back(), text(last));
  be_late();
  EXPECT_EQ(peers.count_vote(), 3);
  if (last == 0) return;
  // From the last one, who is late, to the first; the others are not asked.
  std::vector<float> values(1000, float(rank));
  be_late();
  if (rank == last) peers.send(values, 0);
  if (rank == 0) {
    peers.receive(values, last);
    EXPECT_EQ(values, std::vector<float>(1000, float(last)));
  }
}

}  // namespace
}  // namespace zero::launch
