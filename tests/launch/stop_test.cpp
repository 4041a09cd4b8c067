// Ranks: 1

#include "zero/launch/stop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "tests/support/refusal.hpp"
#include "tests/support/small_checkpoint.hpp"
#include "zero/launch/thread_room.hpp"

namespace zero::launch {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Sends it to the process, as who ends a run does. By raise() it would be for this thread, which
/// has it blocked.
void send(int number) { kill(getpid(), number); }

bool is_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigisemptyset(&pending) == 0;
}

/// Returns what has come and was taken; 0 where nothing comes in 10 s.
int awaited() {
  const auto begun = std::chrono::steady_clock::now();
  while ((StopSignal::received() == 0 || is_pending()) &&
         std::chrono::steady_clock::now() - begun < 10s) {
    std::this_thread::sleep_for(1ms);
  }
  return StopSignal::received();
}

TEST(StopSignal, SIGCONTAsksForNothing) {
  const StopSignal signals;
  send(SIGCONT);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(StopSignal::received(), 0);
}

TEST(StopSignal, TheFirstOneIsKeptForTheStepBoundary) {
  const StopSignal signals;
  send(SIGTERM);
  EXPECT_EQ(awaited(), SIGTERM);
  EXPECT_EQ(StopSignal::name_of(SIGTERM), "SIGTERM");
}

TEST(StopSignal, WhatAnEarlierRunReceivedIsForgotten) {
  {
    const StopSignal signals;
    send(SIGTERM);
    ASSERT_EQ(awaited(), SIGTERM);
  }
  const StopSignal signals;
  EXPECT_EQ(StopSignal::received(), 0);
}

TEST(StopSignal, TheSameOneAtOnceIsOne) {
  const StopSignal signals;
  for (int i = 0; i < 3; ++i) {
    send(SIGTERM);
    EXPECT_EQ(awaited(), SIGTERM);
  }
}

TEST(StopSignal, RequestsCountAsNoSecondOne) {
  const StopSignal signals;
  for (const int number : {SIGUSR1, SIGTERM, SIGUSR1, SIGUSR2}) {
    std::this_thread::sleep_for(250ms);
    send(number);
    EXPECT_EQ(awaited(), SIGUSR1);
  }
}

bool blocks(int number) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, number) == 1;
}

/// The frame of a handler would lie on the heap where oneDNN's products for AVX2 point the stack
/// pointer there.
TEST(StopSignal, InterruptsNoThreadThatComputes) {
  {
    const StopSignal signals;
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) {
      EXPECT_TRUE(blocks(number));
      std::thread([number] { EXPECT_TRUE(blocks(number)); }).join();
    }
  }
  EXPECT_FALSE(blocks(SIGTERM));
}

/// As squeue's is found by job_end().
TEST(StopSignal, ReachesWhatItsProcessStarts) {
  const StopSignal signals;
  EXPECT_EQ(first_line_of({"sh", "-c", "kill -TERM $$; echo deaf"}, 5s), "");
}

/// Lets threads ask for all that a process has room for, and puts back what they asked for.
class HugeStacks {
 public:
  HugeStacks() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge = before_;
    EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
  }
  ~HugeStacks() { EXPECT_EQ(pthread_setattr_default_np(&before_), 0); }

 private:
  pthread_attr_t before_;
};

TEST(StopSignal, WithoutItsThreadSaysWhatToRaiseAndCatchesNothing) {
  std::string refused;
  {
    const HugeStacks stacks;
    refused = testing_support::refusal_of(Exit::kDoesNotFit, [] { const StopSignal signals; });
  }
  EXPECT_THAT(refused, AllOf(HasSubstr("the thread that takes signals"), HasSubstr(kMoreThreads)));
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
}

TEST(StopSignalDeathTest, ASecondOneEndsTheProcess) {
  const auto twice = [](int second, milliseconds later) {
    const StopSignal signals;
    send(SIGTERM);
    awaited();
    std::this_thread::sleep_for(later);
    send(second);
    std::this_thread::sleep_for(10s);
  };
  EXPECT_EXIT(twice(SIGTERM, milliseconds(250)), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(twice(SIGINT, milliseconds(0)), ::testing::KilledBySignal(SIGINT), "");
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequestFiles : public ::testing::Test {
 protected:
  void ask(UserRequest request) const { std::ofstream(path(request)) << ""; }
  bool is_there(UserRequest request) const { return std::filesystem::exists(path(request)); }
  std::string path(UserRequest request) const { return folder_.path() + "/" + name_of(request); }

  testing_support::TempFolder folder_{"requests"};
  UserRequests requests_{folder_.path()};
  UserRequests::Clock::time_point now_ = UserRequests::Clock::now();
};

TEST_F(RequestFiles, AskOnce) {
  EXPECT_EQ(requests_.take(now_), UserRequest::none);
  ask(UserRequest::save);
  EXPECT_EQ(requests_.take(now_ + 1s), UserRequest::save);
  EXPECT_FALSE(is_there(UserRequest::save));
  EXPECT_EQ(requests_.take(now_ + 2s), UserRequest::none);
}

TEST_F(RequestFiles, ToStopSavesToo) {
  ask(UserRequest::save);
  ask(UserRequest::stop);
  EXPECT_EQ(requests_.take(now_), UserRequest::stop);
  EXPECT_FALSE(is_there(UserRequest::save));
  EXPECT_FALSE(is_there(UserRequest::stop));
}

TEST_F(RequestFiles, AreLookedForTwiceASecond) {
  EXPECT_EQ(requests_.take(now_), UserRequest::none);
  ask(UserRequest::stop);
  EXPECT_EQ(requests_.take(now_ + 499ms), UserRequest::none);
  EXPECT_EQ(requests_.take(now_ + 501ms), UserRequest::stop);
}

TEST_F(RequestFiles, OfAnEarlierLaunchAreForgotten) {
  ask(UserRequest::stop);
  EXPECT_THAT(requests_.forget(), ElementsAre("stop_now"));
  EXPECT_THAT(requests_.forget(), IsEmpty());
}

TEST(UserRequests, OfNoFolderAreNone) {
  EXPECT_EQ(UserRequests().take(UserRequests::Clock::now()), UserRequest::none);
}

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

TEST(SecondsOfTimeLeft, ReadsWhatSqueuePrints) {
  EXPECT_EQ(seconds_of_time_left("30:00               \n"), 1800);
  EXPECT_EQ(seconds_of_time_left("0:05"), 5);
  EXPECT_EQ(seconds_of_time_left("2:00:01"), 7201);
  EXPECT_EQ(seconds_of_time_left("1-02:03:04"), 93784);
  EXPECT_EQ(seconds_of_time_left("0:00"), 0);
}

TEST(SecondsOfTimeLeft, OfWhatIsNoTimeIsNone) {
  for (const char* words : {"",
                            " ",
                            "UNLIMITED",
                            "NOT_SET",
                            "INVALID",
                            "5",
                            "-1:00",
                            "1:-2",
                            "1-02:03",
                            "1-5",
                            "-",
                            "1-",
                            "1:2:3:4",
                            "1:60",
                            "a:01",
                            "1:2x",
                            ":",
                            "1::2",
                            "9999999999999:00",
                            "1-1-02:03:04"}) {
    EXPECT_FALSE(seconds_of_time_left(words)) << words;
  }
}

TEST(FirstLineOf, IsWhatAProgramPrintsInTime) {
  EXPECT_EQ(first_line_of({"printf", "one\ntwo\n"}, 5s), "one");
  EXPECT_EQ(first_line_of({"printf", "alone"}, 5s), "alone");
  EXPECT_EQ(first_line_of({"true"}, 5s), "");
  EXPECT_EQ(first_line_of({"zeroapp-no-such-program"}, 5s), "");
}

TEST(FirstLineOf, WaitsForNobodyThatIsLate) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(first_line_of({"sleep", "20"}, 50ms), "");
  EXPECT_EQ(first_line_of({"yes", std::string(300, 'x')}, 5s).size() / 256, 1u) << "no newline yet";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

std::optional<JobEnd> end_with(const std::map<std::string, std::string>& variables) {
  return job_end([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(JobEnd, IsThatOfTheEnvironmentWhereItIsToCome) {
  const auto end = end_with({{"SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 600)}});
  ASSERT_TRUE(end);
  EXPECT_NEAR(end->seconds, 600, 2);
  EXPECT_EQ(end->source, "SLURM_JOB_END_TIME");
}

TEST(JobEnd, IsNoneOutsideOfAJob) {
  EXPECT_FALSE(end_with({}));
  EXPECT_FALSE(end_with({{"SLURM_JOB_END_TIME", "1000"}})) << "long gone";
  EXPECT_FALSE(end_with({{"SLURM_JOB_END_TIME", "soon"}}));
  EXPECT_FALSE(end_with({{"SLURM_JOB_ID", "-h"}}));
}

}  // namespace

}  // namespace zero::launch
