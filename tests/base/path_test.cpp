// Ranks: 1

#include "zero/base/path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace zero {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Path : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "path-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(at("file")) << "0123456789";
    fs::create_directory(at("folder"));
    fs::create_symlink("loop", at("loop"));
    fs::create_symlink("nothing", at("dangling"));
    ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

/// The status and words that `work` ends with.
template <class Work>
std::pair<Exit, std::string> end_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.exit(), error.what()};
  }
  return {Exit::kFinished, ""};
}

TEST_F(Path, TellsWhatLiesThere) {
  EXPECT_EQ(look_at(at("file")).kind, PathKind::file);
  EXPECT_EQ(look_at(at("folder")).kind, PathKind::folder);
  EXPECT_EQ(look_at(at("pipe")).kind, PathKind::other);
  EXPECT_EQ(look_at(at("missing")).kind, PathKind::nothing);
  EXPECT_EQ(look_at(at("file/inside")).kind, PathKind::nothing);
  EXPECT_EQ(look_at(at("dangling")).kind, PathKind::nothing);
  EXPECT_EQ(look_at_name(at("dangling")).kind, PathKind::other);
  EXPECT_TRUE(is_taken(at("dangling")));
  EXPECT_FALSE(is_there(at("dangling")));
  EXPECT_TRUE(is_folder(at("folder")));
  EXPECT_FALSE(is_folder(at("file")));
}

TEST_F(Path, WhatCannotBeFoundOutIsAnErrorOfTheCallersKind) {
  const auto [of_loop, loop] = end_of([&] { is_there(at("loop")); });
  EXPECT_EQ(of_loop, Exit::kInput);
  EXPECT_THAT(loop, HasSubstr(at("loop") + ": Too many levels of symbolic links; its links lead"));
  const std::string name(300, 'n');
  const auto [of_name, words] = end_of([&] { is_folder(at(name), Exit::kUsage); });
  EXPECT_EQ(of_name, Exit::kUsage);
  EXPECT_THAT(words, HasSubstr("File name too long; name a shorter path"));
  EXPECT_EQ(end_of([&] { is_taken(at(name)); }).first, Exit::kIo);
}

TEST_F(Path, SaysWhyItIsNoFolder) {
  EXPECT_EQ(why_no_folder(at("folder")), "");
  EXPECT_EQ(why_no_folder(at("file")), "is no folder");
  EXPECT_THAT(why_no_folder(at("loop")), HasSubstr("symbolic links"));
}

TEST_F(Path, ReadsTheStartOfAFile) {
  EXPECT_EQ(read_start(at("file"), 4).bytes, "0123");
  EXPECT_EQ(read_start(at("file"), 100).bytes, "0123456789");
  EXPECT_EQ(read_start(at("missing"), 4).reason, ENOENT);
  EXPECT_EQ(read_start(at("folder"), 4).reason, EISDIR);
  EXPECT_EQ(read_start(at("loop"), 4).reason, ELOOP);
}

TEST_F(Path, ReadsAPipeInPieces) {
  std::thread writer([&] {
    std::ofstream pipe(at("pipe"));
    pipe << "one " << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pipe << "two";
  });
  EXPECT_EQ(read_start(at("pipe"), 100).bytes, "one two");
  writer.join();
}

TEST_F(Path, WaitsForNoPipeThatNobodyWrites) {
  EXPECT_EQ(read_start(at("pipe"), 100, std::chrono::milliseconds(50)).reason, ETIMEDOUT);
}

}  // namespace
}  // namespace zero
