// Ranks: 1
#include "zero/launch/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace zero::launch {
namespace {

TEST(OccupyStandardFiles, TakesThePlaceOfAClosedConsoleWithWhatCannotBeWrittenTo) {
  const int saved = dup(STDOUT_FILENO);
  ASSERT_GE(saved, 0);
  const int lowest = open("/dev/null", O_RDONLY);
  close(lowest);
  close(STDOUT_FILENO);
  occupy_standard_files();
  const int next = open("/dev/null", O_RDONLY);
  const ssize_t written = write(STDOUT_FILENO, "x", 1);
  const int reason = errno;
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(next);
  EXPECT_EQ(next, lowest) << "nothing else is taken";
  EXPECT_EQ(written, -1);
  EXPECT_EQ(reason, EBADF);
}

TEST(Console, SaysWhatItIsTold) {
  ::testing::internal::CaptureStdout();
  Console(true).say("a line\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a line\n");
}

TEST(Console, IsSilentOnOtherRanks) {
  ::testing::internal::CaptureStdout();
  Console(false).say("a line\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Console, WarnsOnceWhereNothingCanBeSaid) {
  const int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
  ::testing::internal::CaptureStderr();
  dup2(full, STDOUT_FILENO);
  Console console(true);
  console.say("one\n");
  console.say("two\n");
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(full);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "zeroapp: warning: standard output: No space left on device; training goes on\n");
}

}  // namespace
}  // namespace zero::launch
