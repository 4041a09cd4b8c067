// Ranks: 1
#include "zero/launch/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"

namespace zero::launch {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::content_of;

std::string path_of(const char* name) { return ::testing::TempDir() + "zeroapp-" + name; }

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

std::string fresh_folder() {
  const std::string path = ::testing::TempDir() + "zeroapp-launches";
  std::filesystem::remove_all(path);
  std::filesystem::create_directory(path);
  return path;
}

const LaunchStart kStart{.host = "n2",
                         .ranks = 4,
                         .threads = 2,
                         .version = "0.1.0",
                         .command = {"zeroapp", "a b.toml", "run.steps=3"}};

TEST(Launches, ALineTellsWhoStartedWhatWhere) {
  const std::string folder = fresh_folder();
  begin_launch(folder, kStart);
  const std::string line = content_of(folder + "/launches.jsonl");
  EXPECT_THAT(line, HasSubstr("\"host\":\"n2\",\"ranks\":4,\"threads\":2,\"version\":\"0.1.0\","
                              "\"command\":[\"zeroapp\",\"a b.toml\",\"run.steps=3\"],"
                              "\"end\":null,\"ended\":null}\n"));
  EXPECT_EQ(last_end(folder), "");
}

TEST(Launches, ALineTellsFromWhichStepItGoesOn) {
  const std::string folder = fresh_folder();
  LaunchStart start = kStart;
  start.resumed_from = 5;
  begin_launch(folder, start);
  EXPECT_THAT(content_of(folder + "/launches.jsonl"), HasSubstr("\"resumed_from_step\":5,\"end\""));
  const std::string other = fresh_folder();
  begin_launch(other, kStart);
  EXPECT_THAT(content_of(other + "/launches.jsonl"), Not(HasSubstr("resumed_from_step")));
}

TEST(Launches, TheEndGoesIntoTheLineOfTheLastOne) {
  const std::string folder = fresh_folder();
  begin_launch(folder, kStart);
  EXPECT_TRUE(end_launch(folder, "finished step 3"));
  const std::string first = content_of(folder + "/launches.jsonl");
  begin_launch(folder, kStart);
  EXPECT_TRUE(end_launch(folder, "error E0700 in step 2"));
  const std::string both = content_of(folder + "/launches.jsonl");
  EXPECT_TRUE(both.starts_with(first)) << both;
  EXPECT_EQ(last_end(folder), "error E0700 in step 2");
}

TEST(Launches, TheFirstWordAboutAnEndStays) {
  const std::string folder = fresh_folder();
  begin_launch(folder, kStart);
  EXPECT_TRUE(end_launch(folder, "error E0500"));
  EXPECT_TRUE(end_launch(folder, "finished"));
  end_killed_launch(folder);
  EXPECT_EQ(last_end(folder), "error E0500");
}

TEST(Launches, OneThatLeftNoWordWasKilled) {
  const std::string folder = fresh_folder();
  begin_launch(folder, kStart);
  end_killed_launch(folder);
  EXPECT_EQ(last_end(folder), "killed");
  EXPECT_THAT(content_of(folder + "/launches.jsonl"), HasSubstr("\"end\":null,"));
}

TEST(Launches, DamagedLinesAreLeftAlone) {
  const std::string folder = fresh_folder();
  EXPECT_TRUE(end_launch(folder, "finished")) << "there is none to end";
  write_file(folder + "/launches.jsonl", "{\"start\": \"2026-");
  EXPECT_TRUE(end_launch(folder, "finished"));
  EXPECT_EQ(content_of(folder + "/launches.jsonl"), "{\"start\": \"2026-");
  EXPECT_EQ(last_end(folder), "");
}

std::string refusal(const std::string& folder) {
  return testing_support::refusal_of(Exit::kIo, [&] { begin_launch(folder, kStart); });
}

TEST(Launches, AreWrittenThroughNoLinkAndWaitForNoPipe) {
  const std::string folder = fresh_folder(), record = folder + "/launches.jsonl";
  write_file(folder + "/theirs", "theirs");
  std::filesystem::create_symlink("theirs", record);
  EXPECT_THAT(refusal(folder), HasSubstr("launches.jsonl: is a symbolic link"));
  EXPECT_EQ(last_end(folder), "");
  EXPECT_EQ(content_of(folder + "/theirs"), "theirs");
  std::filesystem::remove(record);
  ASSERT_EQ(mkfifo(record.c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder), HasSubstr("launches.jsonl: is no regular file"));
  EXPECT_EQ(last_end(folder), "");
  EXPECT_TRUE(end_launch(folder, "finished")) << "there is none to end";
}

TEST(Launches, ThatAreLongerThanAnyRecordAreNotRead) {
  const std::string folder = fresh_folder(), record = folder + "/launches.jsonl";
  begin_launch(folder, kStart);
  std::filesystem::resize_file(record, int64_t(16) << 20);
  EXPECT_EQ(last_end(folder), "") << "the last line is no line";
  begin_launch(folder, kStart);
  EXPECT_THAT(refusal(folder), HasSubstr("bytes, at most 16777216 are read - move it away"));
  EXPECT_TRUE(end_launch(folder, "finished"));
  EXPECT_GT(std::filesystem::file_size(record), uint64_t(16) << 20) << "it is as it was";
}

TEST(Launches, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(begin_launch("/no/such/folder", kStart), Error);
}

}  // namespace
}  // namespace zero::launch
