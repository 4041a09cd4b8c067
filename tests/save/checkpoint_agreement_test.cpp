// Ranks: 1 2 4
#include "src/save/checkpoint_agreement.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "zero/launch/watchdog.hpp"

namespace zero::save {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Ranks with a watchdog, so that they give signs of life.
class FirstProblem : public ::testing::Test {
 protected:
  FirstProblem() { peers.watch_with(&watchdog); }
  ~FirstProblem() override { peers.watch_with(nullptr); }

  Problem problem_of(const std::function<void()>& work) {
    return first_problem(peers, {.name = "work", .is_in_vain = &is_in_vain}, work);
  }
  /// Until it is in vain; with an end, for the test's sake.
  void work_on() const {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (!is_in_vain && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  launch::Watchdog watchdog{
      {.timeout_seconds = 60,
       .finished = [] { return int64_t(0); },
       .running = [] { return std::string("work"); },
       .on_hang = [](const std::string& what, double) { ADD_FAILURE() << what; }}};
  launch::Peers peers;
  const int last = peers.ranks() - 1;
  std::atomic<bool> is_in_vain{false};
};

TEST_F(FirstProblem, EndsTheWorkOfTheOthers) {
  const Problem problem = problem_of([this] {
    if (peers.rank() == last) refuse(Exit::kIo, "the disk is full");
    work_on();
    EXPECT_TRUE(is_in_vain) << "half a second is no 30";
  });
  EXPECT_EQ(problem.what, "the disk is full");
  EXPECT_EQ(problem.rank, last);
  EXPECT_EQ(problem.exit, Exit::kIo);
}

TEST_F(FirstProblem, IsTheFirstRanksWhereSeveralFail) {
  const Problem problem = problem_of([this] {
    if (peers.rank() != last) work_on();
    refuse(Exit::kIo, "rank ", peers.rank(), " fails");
  });
  EXPECT_EQ(problem.what, "rank 0 fails");
  EXPECT_EQ(problem.rank, 0);
}

TEST_F(FirstProblem, IsNoneWhereAllEnd) {
  // Long enough for some signs of life.
  const milliseconds time(peers.rank() == 0 ? 900 : 10);
  EXPECT_FALSE(problem_of([&] { std::this_thread::sleep_for(time); }));
  EXPECT_FALSE(is_in_vain);
}

TEST(FirstProblemOfNodes, NamesTheNodeAndBlamesItIfRankZerosIsFine) {
  const Problem of_second = first_problem({"n1", "n1", "n2 5 read-only", "n2 5 as well"});
  EXPECT_EQ(of_second.rank, 2);
  EXPECT_EQ(of_second.what, "read-only");
  EXPECT_EQ(of_second.exit, Exit::kIo);
  EXPECT_EQ(of_second.host, "n2");
  EXPECT_EQ(of_second.blamed, "n2");
  const Problem of_first = first_problem({"n1", "n1 5 the disk is full", "n2 5 as well"});
  EXPECT_EQ(of_first.host, "n1");
  EXPECT_EQ(of_first.blamed, "") << "all may write to one disk";
  const Problem alone = first_problem({"n1", "n1 5 the disk is full"});
  EXPECT_EQ(alone.rank, 1);
  EXPECT_EQ(alone.host, "") << "there is one node";
  EXPECT_FALSE(first_problem({"n1", "n2"}));
}

}  // namespace
}  // namespace zero::save
