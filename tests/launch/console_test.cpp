// Ranks: 1
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "zero/launch/files.hpp"

namespace zero::launch {
namespace {

TEST(Console, SaysWhatItIsTold) {
  testing::internal::CaptureStdout();
  Console(true).say("a line\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line\n");
}

TEST(Console, IsSilentOnOtherRanks) {
  testing::internal::CaptureStdout();
  Console(false).say("a line\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Console, WarnsOnceWhereNothingCanBeSaid) {
  const int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
  testing::internal::CaptureStderr();
  dup2(full, STDOUT_FILENO);
  Console console(true);
  console.say("one\n");
  console.say("two\n");
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(full);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "zeroapp: warning: standard output: No space left on device; training goes on\n");
}

}  // namespace
}  // namespace zero::launch
