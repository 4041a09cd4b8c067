// Ranks: 1
#include "zero/train/run_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

namespace fs = std::filesystem;

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

TEST(RunFolder, ReportsAPathThatIsNoFolder) {
  const std::string path = fresh_path();
  std::ofstream(path) << "a file";
  try {
    const RunFolder folder(path);
    FAIL() << "a file is no folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kIo);
  }
  fs::remove(path);
}

}  // namespace
}  // namespace zero::train
