// Ranks: 1
#include "zero/io/files/output_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/file_calls.hpp"
#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"

namespace zero {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() : folder_(fs::temp_directory_path() / ("zero-output-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~OutputFiles() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

TEST_F(OutputFiles, AppearWholeUnderTheirName) {
  OutputFile file(path("a"));
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path("a")));
  file.publish();
  EXPECT_EQ(read_whole(path("a"), 100), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFiles, GoAwayUnlessPublished) {
  { OutputFile(path("a")).write("one"); }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFiles, GoAwayUnlessPublishedAlsoInThePlaceOfAClosedStandardInput) {
  const int saved = dup(STDIN_FILENO);
  ASSERT_GE(saved, 0);
  close(STDIN_FILENO);
  { OutputFile(path("a")).write("one"); }
  dup2(saved, STDIN_FILENO);
  close(saved);
  EXPECT_EQ(files(), 0u);
}

/// Containers give processes the same numbers again and again.
TEST_F(OutputFiles, AreMadeWhereAKilledProcessOfTheSameNumberHasLeftOne) {
  const std::string left = path("a") + ".tmp-" + std::to_string(getpid());
  for (const std::string& name : {left, left + "-1", path("a") + ".tmp-\x1b"})
    std::ofstream(name) << "half";
  ASSERT_EQ(mkfifo((path("a") + ".tmp-7").c_str(), 0600), 0) << "which nobody may wait for";
  fs::create_symlink(left, path("a") + ".tmp-8");
  EXPECT_EQ(left_files(path("a")), (std::vector<std::string>{left, left + "-1"}));
  OutputFile file(path("a"));
  file.write("whole");
  EXPECT_EQ(left_files(path("a")).size(), 2u) << "this process lives";
  file.publish();
  EXPECT_EQ(read_whole(path("a"), 100), "whole");
  EXPECT_EQ(read_whole(left, 100), "half");
}

TEST_F(OutputFiles, MayBeLeftAsTheyAre) {
  std::string left;
  {
    OutputFile file(path("a"));
    file.write("one");
    left = file.leave();
  }
  EXPECT_EQ(read_whole(left, 100), "one");
  EXPECT_EQ(left_files(path("a")), std::vector<std::string>{left});
  EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(OutputFiles, SayInTheirTemporaryNameTheLineTheyBeginWith) {
  std::vector<std::string> left;
  for (int i = 0; i < 2; ++i) left.push_back(OutputFile(path("a.tmp-5.x"), 30).leave());
  left.push_back(OutputFile(path("a.tmp-5.x")).leave());
  EXPECT_EQ(left_files(path("a.tmp-5.x")).size(), 3u);
  EXPECT_EQ(first_line_of(left[0]), 30);
  EXPECT_EQ(first_line_of(left[1]), 30) << left[1];
  EXPECT_EQ(first_line_of(left[2]), 1);
}

TEST_F(OutputFiles, NeverOverwrite) {
  OutputFile late(path("a"));
  std::ofstream(path("a")) << "precious";
  EXPECT_THROW(OutputFile(path("a")), Error);
  EXPECT_THROW(late.publish(), Error);
  EXPECT_EQ(read_whole(path("a"), 100), "precious");
  fs::create_directory(path("old"));
  fs::create_directory(path("new"));
  EXPECT_THROW(rename_new(path("old"), path("new")), Error) << "an empty folder stays, too";
  rename_new(path("old"), path("other"));
  EXPECT_TRUE(fs::exists(path("other")));
}

TEST_F(OutputFiles, GiveANameBackThatWasTakenInVain) {
  fs::create_directory(path("old"));
  testing_support::without_noreplace = true;
  // The first call makes the folder that the second is to replace.
  testing_support::file_call_plan = {.call = 2, .error = EIO};
  EXPECT_THROW(rename_new(path("old"), path("new")), Error);
  EXPECT_FALSE(fs::exists(path("new")));
  EXPECT_TRUE(fs::exists(path("old")));
  rename_new(path("old"), path("new"));
  testing_support::without_noreplace = false;
  EXPECT_TRUE(fs::exists(path("new")));
}

TEST_F(OutputFiles, ADiskThatIsFullIsNamedWithThePlace) {
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { 1000, before.rlim_max };
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string message, left;
  try {
    OutputFile file(path("a"));
    file.write(std::string(600, 'x'));
    EXPECT_THROW(file.write(std::string(600, 'x')), Error);
    file.write(std::string(100, 'y'));
    left = file.leave();
    EXPECT_EQ(read_whole(left, 2000), std::string(600, 'x') + std::string(100, 'y'))
        << "no part of what did not fit";
    OutputFile(path("b")).write(std::string(1200, 'x'));
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kIo);
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_NE(message.find(path("b") + ": offset 1000"), std::string::npos) << message;
  fs::remove(left);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace zero
