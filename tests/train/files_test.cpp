// Ranks: 1
#include "zero/train/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "zero/base/error.hpp"

namespace zero::train {
namespace {

std::string path_of(const char* name) { return testing::TempDir() + "zeroapp-" + name; }

TEST(WriteFile, ReplacesTheContentAndLeavesNothingBeside) {
  const std::string path = path_of("write-file");
  write_file(path, "a long first text");
  write_file(path, "second");
  EXPECT_EQ(file_text(path), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
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

TEST(FileText, IsEmptyWithoutAFile) { EXPECT_EQ(file_text("/no/such/file"), ""); }

TEST(OccupyStandardFiles, TakesThePlaceOfAClosedConsoleWithWhatCannotBeWrittenTo) {
  const int saved = dup(STDOUT_FILENO);
  ASSERT_GE(saved, 0);
  close(STDOUT_FILENO);
  occupy_standard_files();
  const int next = open("/dev/null", O_RDONLY);
  const ssize_t written = write(STDOUT_FILENO, "x", 1);
  const int reason = errno;
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(next);
  EXPECT_GT(next, STDERR_FILENO);
  EXPECT_EQ(written, -1);
  EXPECT_EQ(reason, EBADF);
}

}  // namespace
}  // namespace zero::train
