// Ranks: 1
#include "zero/base/shared_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace zero {
namespace {

namespace fs = std::filesystem;

/// A folder that goes away with the object.
class Prefix {
 public:
  Prefix()
      : path_(fs::canonical(fs::temp_directory_path()) /
              ("zero-shared-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Prefix() { fs::remove_all(path_); }
  Prefix(const Prefix&) = delete;
  Prefix& operator=(const Prefix&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string made(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
  return path;
}

TEST(SharedFile, LiesBesideTheFolderOfTheProgram) {
  const Prefix prefix;
  const std::string program = made(prefix / "bin/zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", program), "inputs/a.toml") << "nothing is installed";
  EXPECT_EQ(shared_folder(program), "");
  const std::string input = made(prefix / "share/zeroapp/inputs/a.toml");
  EXPECT_EQ(shared_folder(program), prefix / "share/zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", program), input);
  EXPECT_EQ(shared_file("inputs/b.toml", program), "inputs/b.toml") << "not there";
}

TEST(SharedFile, IsFoundThroughALinkToTheProgram) {
  const Prefix prefix;
  made(prefix / "real/bin/zeroapp");
  const std::string input = made(prefix / "real/share/zeroapp/inputs/a.toml");
  fs::create_symlink(prefix / "real/bin/zeroapp", prefix / "zeroapp");
  EXPECT_EQ(shared_file("inputs/a.toml", prefix / "zeroapp"), input);
  EXPECT_EQ(shared_file("inputs/a.toml", prefix / "absent"), "inputs/a.toml");
}

}  // namespace
}  // namespace zero
