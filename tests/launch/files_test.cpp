// Ranks: 1

#include "zero/launch/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/content_of.hpp"
#include "zero/base/error.hpp"

namespace zero::launch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::content_of;

std::string path_of(const char* name) { return testing::TempDir() + "zeroapp-" + name; }

TEST(WriteFile, ReplacesTheContentAndLeavesNothingBeside) {
  const std::string path = path_of("write-file");
  write_file(path, "a long first text");
  write_file(path, "second");
  EXPECT_EQ(content_of(path), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(WriteFile, WritesThroughNoLinkWhereverOneLies) {
  const std::string path = path_of("linked-file"), theirs = path_of("theirs");
  for (const std::string& link : {path + ".tmp", path}) {
    write_file(theirs, "theirs");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(theirs, link);
    write_file(path, "ours");
    EXPECT_EQ(content_of(path), "ours") << link;
    EXPECT_FALSE(std::filesystem::is_symlink(path)) << link;
    EXPECT_EQ(content_of(theirs), "theirs") << link;
  }
}

TEST(WriteFile, RemovesNoFolder) {
  const std::string path = path_of("beside-a-folder");
  std::filesystem::create_directories(path + ".tmp");
  EXPECT_THROW(write_file(path, "x"), Error);
  EXPECT_TRUE(std::filesystem::is_directory(path + ".tmp"));
}

TEST(WriteFile, NamesThePathAndTheReason) {
  try {
    write_file("/no/such/folder/file", "x");
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kIo);
    EXPECT_STREQ(error.what(),
                 "/no/such/folder/file: could not be written: No such file or directory");
  }
}

TEST(NoFolderText, NamesWhatStandsBesideAFolderThatIsNotThere) {
  const std::filesystem::path place = path_of("no-folder");
  for (const char* name : {"b", "a", ".hidden"}) std::filesystem::create_directories(place / name);
  const std::string absent = (place / "c").string();
  EXPECT_THAT(no_folder_text(absent), StartsWith(absent + ": is not there; name the folder of"));
  EXPECT_THAT(no_folder_text(absent + "/"), EndsWith(" (" + place.string() + " holds a, b)"));
  write_file((place / "file").string(), "x");
  EXPECT_THAT(no_folder_text((place / "file").string()),
              HasSubstr("is a file; name the folder of"));
  EXPECT_THAT(no_folder_text("absent"), EndsWith("or a model's"));
  for (int i = 0; i < 6; ++i) std::filesystem::create_directory(place / std::to_string(i));
  EXPECT_THAT(no_folder_text(absent), EndsWith("holds 0, 1, 2, 3, 4 and 3 more)"));
  std::filesystem::remove_all(place);
}

TEST(NoFolderText, FindsTheRunOfThatNameInRuns) {
  const std::filesystem::path before = std::filesystem::current_path(), place = path_of("in-runs");
  std::filesystem::create_directories(place / "runs/mine");
  std::filesystem::current_path(place);
  EXPECT_EQ(no_folder_text("mine"), "mine: is not there; did you mean runs/mine?");
  std::filesystem::current_path(before);
  std::filesystem::remove_all(place);
}

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
