// Ranks: 1
#include "zero/base/shared_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

std::string made(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
  return path;
}

TEST(SharedFile, LiesBesideTheFolderOfTheProgram) {
  const testing_support::ScratchFolder folder("shared_files");
  const fs::path prefix = fs::canonical(folder.path());
  const std::string program = made(prefix / "bin/zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", program), "inputs/a.toml") << "nothing is installed";
  EXPECT_EQ(shared_folder(program), "");
  const std::string input = made(prefix / "share/zeroapp/inputs/a.toml");
  EXPECT_EQ(shared_folder(program), prefix / "share/zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", program), input);
  EXPECT_EQ(shared_file("inputs/b.toml", program), "inputs/b.toml") << "not there";
}

TEST(SharedFile, IsFoundThroughALinkToTheProgram) {
  const testing_support::ScratchFolder folder("shared_files_link");
  const fs::path prefix = fs::canonical(folder.path());
  made(prefix / "real/bin/zeroapp");
  const std::string input = made(prefix / "real/share/zeroapp/inputs/a.toml");
  fs::create_symlink(prefix / "real/bin/zeroapp", prefix / "zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", prefix / "zeroapp"), input);
  EXPECT_EQ(shared_file("inputs/a.toml", prefix / "absent"), "inputs/a.toml");
}

}  // namespace
}  // namespace zero
