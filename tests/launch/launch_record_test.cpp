// Ranks: 1
#include "zero/launch/launch_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/content_of.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/own_file.hpp"

namespace zero::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::content_of;

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

TEST(Launches, ALineNamesItsJob) {
  const std::string folder = fresh_folder();
  LaunchStart start = kStart;
  start.job = "17";
  begin_launch(folder, start);
  EXPECT_THAT(content_of(folder + "/launches.jsonl"), HasSubstr("\"job\":\"17\",\"end\""));
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
  replace_own(folder + "/launches.jsonl", "{\"start\": \"2026-");
  EXPECT_TRUE(end_launch(folder, "finished"));
  EXPECT_EQ(content_of(folder + "/launches.jsonl"), "{\"start\": \"2026-");
  EXPECT_EQ(last_end(folder), "");
}

std::string refusal(const std::string& folder) {
  return testing_support::refusal_of(Exit::kIo, [&] { begin_launch(folder, kStart); });
}

TEST(Launches, AreWrittenThroughNoLinkAndWaitForNoPipe) {
  const std::string folder = fresh_folder(), record = folder + "/launches.jsonl";
  replace_own(folder + "/theirs", "theirs");
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
