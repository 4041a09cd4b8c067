// Ranks: 1
#include "zero/train/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "zero/base/error.hpp"
#include "zero/train/launches.hpp"

namespace {

/// While true, this machine's file systems know no locks.
bool without_locks = false;

}  // namespace

/// In front of the library's.
extern "C" int flock(int file, int operation) {
  if (!without_locks) return int(syscall(SYS_flock, file, operation));
  errno = ENOSYS;
  return -1;
}

namespace zero::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string fresh_path() {
  const std::string path = testing::TempDir() + "zeroapp-run-folder";
  fs::remove_all(path);
  return path;
}

TEST(RunFolder, MovesWhatEarlierRunsLeftToANewPlaceEachTime) {
  const std::string path = fresh_path();
  { EXPECT_EQ(RunFolder(path).moved_to(), ""); }
  for (const char* place : {"/old-1", "/old-2"}) {
    std::ofstream(path + "/metrics.jsonl") << place;
    const RunFolder folder(path);
    EXPECT_EQ(folder.moved_to(), path + place);
    EXPECT_TRUE(fs::exists(path + place + "/metrics.jsonl"));
    EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  }
}

TEST(RunFolder, RefusesASecondLiveRunAndNamesTheFirst) {
  const std::string path = fresh_path();
  const RunFolder first(path);
  std::ofstream(path + "/metrics.jsonl") << "of the first";
  try {
    const RunFolder second(path);
    FAIL() << "two live runs in one folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInUse);
    EXPECT_NE(std::string(error.what()).find(text("process ", getpid())), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(fs::exists(path + "/metrics.jsonl")) << "the first run's files stay";
}

/// What the folder says when it does not let a run in; "" when it does.
std::string refusal(const std::string& path, Exit exit) {
  try {
    const RunFolder folder(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit) << error.what();
    return error.what();
  }
  return "";
}

TEST(RunFolder, MovesNothingThatNoRunHasWritten) {
  const std::string path = fresh_path();
  fs::create_directories(path + "/model");
  std::ofstream(path + "/thesis.tex") << "mine";
  const RunFolder folder(path);
  EXPECT_TRUE(fs::exists(path + "/thesis.tex"));
  EXPECT_TRUE(fs::exists(path + "/old-1/model"));
}

TEST(RunFolder, TellsHowTheEarlierRunEnded) {
  const std::string path = fresh_path();
  for (const char* end : {"finished step 3 of 3", ""}) {
    {
      const RunFolder folder(path);
      begin_launch(path, {.host = "n1", .version = "0.1", .command = {}});
      if (*end) end_launch(path, end);
    }
    EXPECT_EQ(RunFolder(path).earlier_end(), *end ? end : "killed");
  }
}

TEST(RunFolder, ALockWhoseProcessIsGoneIsNone) {
  const std::string path = fresh_path();
  fs::create_directory(path);
  std::ofstream(path + "/lock") << "host elsewhere process 17\n";
  EXPECT_EQ(refusal(path, Exit::kInUse), "");
}

TEST(RunFolder, ACleanEndLeavesNoHolder) {
  const std::string path = fresh_path();
  {
    const RunFolder folder(path);
    EXPECT_THAT(file_text(path + "/lock"), HasSubstr("process"));
  }
  EXPECT_EQ(file_text(path + "/lock"), "");
}

TEST(RunFolder, WithoutLocksTheFilesWordCounts) {
  const std::string path = fresh_path();
  fs::create_directory(path);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  without_locks = true;
  std::ofstream(path + "/lock") << "host elsewhere process 17\n";
  EXPECT_THAT(refusal(path, Exit::kInUse), HasSubstr("host elsewhere process 17"));
  std::ofstream(path + "/lock") << "host " << host << " process 1\n";
  EXPECT_THAT(refusal(path, Exit::kInUse), HasSubstr("remove " + path + "/lock"));
  std::ofstream(path + "/lock") << "host " << host << " process 999999999\n";
  EXPECT_EQ(refusal(path, Exit::kInUse), "") << "that process is gone";
  EXPECT_EQ(refusal(path, Exit::kInUse), "") << "the last one has ended well";
  without_locks = false;
}

TEST(RunFolder, LeavesNothingOfItsProbe) {
  const std::string path = fresh_path();
  const RunFolder folder(path);
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 1) << "the lock alone";
}

TEST(RunFolder, ReportsAPathThatIsNoFolder) {
  const std::string path = fresh_path();
  std::ofstream(path) << "a file";
  EXPECT_THAT(refusal(path, Exit::kIo), HasSubstr(path + ": Not a directory"));
  EXPECT_THAT(refusal(path + "/run", Exit::kIo), HasSubstr("Not a directory"));
  fs::remove(path);
}

}  // namespace
}  // namespace zero::train
