// Ranks: 1
#include "src/train/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "zero/base/error.hpp"
#include "zero/launch/launch_record.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string fresh_path() {
  const std::string path = ::testing::TempDir() + "zeroapp-run-folder";
  fs::remove_all(path);
  return path;
}

TEST(RunFolder, MovesWhatEarlierRunsLeftToANewPlaceEachTime) {
  const std::string path = fresh_path();
  fs::create_directory(path);
  { EXPECT_EQ(RunFolder(path).moved_to(), ""); }
  for (const char* place : {"/old-1", "/old-2"}) {
    std::ofstream(path + "/metrics.jsonl") << place;
    RunFolder folder(path);
    folder.make_way(false);
    EXPECT_EQ(folder.moved_to(), path + place);
    EXPECT_TRUE(fs::exists(path + place + "/metrics.jsonl"));
    EXPECT_FALSE(fs::exists(path + "/metrics.jsonl"));
  }
}

TEST(RunFolder, LeavesNothingOfALaunchThatIsRefused) {
  const std::string path = fresh_path(), run = path + "/runs/a", store = run + "/checkpoints";
  const auto launch = [&](bool is_kept) {
    RunFolder folder(run);
    folder.will_make(store, "LOCK");
    fs::create_directory(store);
    std::ofstream(store + "/LOCK") << "this process";
    if (is_kept) folder.keep();
  };
  launch(false);
  EXPECT_FALSE(fs::exists(path)) << "with the folders around it";
  fs::create_directories(run);
  std::ofstream(run + "/notes.txt") << "mine";
  launch(false);
  EXPECT_TRUE(fs::exists(run + "/notes.txt"));
  EXPECT_FALSE(fs::exists(run + "/lock") || fs::exists(store));
  launch(true);
  EXPECT_TRUE(fs::exists(run + "/lock") && fs::exists(store + "/LOCK"));
  launch(false);
  EXPECT_TRUE(fs::exists(run + "/lock") && fs::exists(store + "/LOCK")) << "of the one before";
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
  RunFolder folder(path);
  folder.make_way(false);
  EXPECT_TRUE(fs::exists(path + "/thesis.tex"));
  EXPECT_TRUE(fs::exists(path + "/old-1/model"));
}

TEST(RunFolder, CheckpointsMoveOnlyWhereTheyAreNotWanted) {
  const std::string path = fresh_path();
  fs::create_directories(path + "/checkpoints");
  std::ofstream(path + "/summary.json") << "{}";
  RunFolder folder(path);
  folder.make_way(false);
  EXPECT_TRUE(fs::exists(path + "/checkpoints"));
  folder.make_way(true);
  EXPECT_FALSE(fs::exists(path + "/checkpoints"));
  EXPECT_TRUE(fs::exists(path + "/old-2/checkpoints"));
}

TEST(RunFolder, ARunThatGoesOnKeepsItsRecordAndLosesWhatAnEndHasLeft) {
  const std::string path = fresh_path();
  fs::create_directories(path + "/model");
  for (const char* name : {"metrics.jsonl", "launches.jsonl", "summary.json", "error.json"}) {
    std::ofstream(path + "/" + name) << "{}";
  }
  {
    RunFolder folder(path);
    folder.forget_error();
    for (const char* name : {"metrics.jsonl", "launches.jsonl", "summary.json", "model"}) {
      EXPECT_TRUE(fs::exists(path + "/" + name)) << name;
    }
    EXPECT_FALSE(fs::exists(path + "/error.json"));
    folder.go_on();
  }
  for (const char* name : {"metrics.jsonl", "launches.jsonl", "old-1/model"}) {
    EXPECT_TRUE(fs::exists(path + "/" + name)) << name;
  }
  for (const char* name : {"summary.json", "error.json", "model"}) {
    EXPECT_FALSE(fs::exists(path + "/" + name)) << name;
  }
}

TEST(RunFolder, TellsHowTheEarlierRunEnded) {
  const std::string path = fresh_path();
  for (const char* end : {"finished step 3 of 3", ""}) {
    {
      const RunFolder folder(path);
      launch::begin_launch(path, {.host = "n1", .version = "0.1", .command = {}});
      if (*end) launch::end_launch(path, end);
    }
    EXPECT_EQ(RunFolder(path).earlier_end(), *end ? end : "killed");
  }
}

TEST(RunFolder, LeavesNothingOfItsProbe) {
  const std::string path = fresh_path();
  const RunFolder folder(path);
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 1) << "the lock alone";
}

TEST(RunFolder, TriesItsDiskWhateverLiesInItsWay) {
  const std::string path = fresh_path();
  fs::create_directory(path);
  ASSERT_EQ(mkfifo((path + "/.probe").c_str(), 0600), 0);
  { const RunFolder waits_for_no_reader(path); }
  fs::create_symlink("absent", path + "/.probe");
  { const RunFolder follows_no_link(path); }
  EXPECT_FALSE(fs::exists(path + "/absent"));
  fs::create_directory(path + "/.probe");
  EXPECT_THAT(refusal(path, Exit::kIo), HasSubstr("/.probe: Is a directory"));
  EXPECT_FALSE(fs::exists(path + "/lock")) << "a refused start leaves nothing that it made";
}

TEST(RunFolder, MovesNothingIntoWhatSomebodyElseHasMade) {
  const std::string path = fresh_path();
  RunFolder folder(path);
  std::ofstream(path + "/summary.json") << "{}";
  std::ofstream(path + "/old-1") << "a file";
  fs::create_symlink("absent", path + "/old-2");
  folder.make_way(false);
  EXPECT_EQ(folder.moved_to(), path + "/old-3");
  EXPECT_TRUE(fs::exists(path + "/old-3/summary.json"));
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
