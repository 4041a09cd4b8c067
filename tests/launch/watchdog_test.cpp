// Ranks: 1
#include "zero/launch/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace zero::launch {
namespace {

using std::chrono::milliseconds;

class Watched : public ::testing::Test {
 protected:
  Watchdog::Options options() {
    return {.timeout_seconds = 0.08,
            .finished = [this] { return finished.load(); },
            .running = [] { return std::string("lane gather"); },
            .on_hang =
                [this](const std::string& what, double) {
                  said = what;
                  ++hangs;
                }};
  }

  std::atomic<int64_t> finished{0};
  std::atomic<int> hangs{0};
  std::string said;
};

TEST_F(Watched, SaysOnceWhatHangs) {
  {
    Watchdog dog(options());
    dog.arm();
    std::this_thread::sleep_for(milliseconds(400));
  }
  EXPECT_EQ(hangs, 1);
  EXPECT_EQ(said, "lane gather");
}

TEST_F(Watched, IsSilentWhileOpsFinish) {
  auto slow = options();
  slow.timeout_seconds = 2;
  Watchdog dog(slow);
  dog.arm();
  for (int i = 0; i < 20; ++i, ++finished) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(hangs, 0);
}

TEST_F(Watched, IsSilentWhileDisarmed) {
  Watchdog dog(options());
  dog.arm();
  dog.disarm();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(hangs, 0);
}

TEST_F(Watched, IsSilentWhileThatIsExcused) {
  std::atomic<bool> excused{true};
  auto waiting = options();
  waiting.excused = [&] { return excused.load(); };
  Watchdog dog(waiting);
  dog.arm();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(hangs, 0);
  excused = false;
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_EQ(hangs, 1);
}

/// Status of a process whose watchdog waits for two seconds in vain: 10 where it has said so.
/// Another process stops it for three and lets it go on.
int status_of_one_that_is_stopped(Watchdog::Options options, milliseconds afterwards) {
  const pid_t child = fork();
  if (child == 0) {
    options.timeout_seconds = 2;
    options.on_hang = [](const std::string&, double) { _exit(10); };
    Watchdog dog(options);
    dog.arm();
    kill(getpid(), SIGSTOP);
    std::this_thread::sleep_for(afterwards);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  std::this_thread::sleep_for(milliseconds(3000));
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(Watched, TimeInWhichTheProcessWasStoppedIsNoHang) {
  EXPECT_EQ(status_of_one_that_is_stopped(options(), milliseconds(300)), 0);
  EXPECT_EQ(status_of_one_that_is_stopped(options(), milliseconds(10'000)), 10);
}

TEST_F(Watched, CountsFromTheLastArmingOnAndNamesItsPlace) {
  auto slow = options();
  slow.timeout_seconds = 0.4;
  Watchdog dog(slow);
  for (int i = 0; i < 8; ++i) {
    const Watchdog::Armed armed(&dog, "the vote");
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(hangs, 0) << "0.8 s of waiting, 0.1 s each";
  const Watchdog::Armed armed(&dog, "the vote");
  std::this_thread::sleep_for(milliseconds(800));
  EXPECT_EQ(hangs, 1);
  EXPECT_EQ(said, "the vote");
}

}  // namespace
}  // namespace zero::launch
