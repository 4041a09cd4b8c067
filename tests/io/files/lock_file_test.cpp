// Ranks: 1
#include "zero/io/files/lock_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "zero/base/error.hpp"
#include "zero/io/files/input_file.hpp"

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

namespace zero {
namespace {

using ::testing::HasSubstr;

class LockFiles : public ::testing::Test {
 protected:
  LockFiles() { std::filesystem::remove(path_); }
  ~LockFiles() override { std::filesystem::remove(path_); }

  LockFile take() const { return {path_, {.what = "the folder", .remedy = "take another"}}; }
  /// What is said when the lock is not to be had; "" when it is.
  std::string refusal() const {
    try {
      take();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInUse) << error.what();
      return error.what();
    }
    return "";
  }
  void say(const std::string& holder) const { std::ofstream(path_) << holder << "\n"; }

  std::string path_ = ::testing::TempDir() + "zeroapp-lock-" + std::to_string(getpid());
};

TEST_F(LockFiles, NameTheirHolderToTheSecond) {
  const LockFile first = take();
  EXPECT_THAT(refusal(), HasSubstr("the folder is in use by host "));
  EXPECT_THAT(refusal(), HasSubstr(text("process ", getpid(), " - wait for it, or take another")));
}

TEST_F(LockFiles, AreFreeWhenTheirProcessIsGone) {
  say("host elsewhere process 17");
  EXPECT_EQ(refusal(), "");
}

TEST_F(LockFiles, NameNobodyAfterACleanEnd) {
  {
    const LockFile lock = take();
    EXPECT_THAT(read_whole(path_, 1000), HasSubstr("process"));
  }
  EXPECT_EQ(read_whole(path_, 1000), "");
}

TEST_F(LockFiles, AreRemovedOnlyWhereNobodyHoldsThem) {
  {
    const LockFile held = take();
    remove_lock_file(path_);
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_THAT(refusal(), HasSubstr("in use")) << "by the same file";
  }
  remove_lock_file(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  remove_lock_file(path_);
  const LockFile anew = take();
  EXPECT_THAT(refusal(), HasSubstr("in use"));
}

TEST_F(LockFiles, GoByTheirWordWithoutLocks) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  without_locks = true;
  say("host elsewhere process 17");
  EXPECT_THAT(refusal(), HasSubstr("host elsewhere process 17"));
  say(text("host ", host, " process 1"));
  EXPECT_THAT(refusal(), HasSubstr("remove " + path_));
  say(text("host ", host, " process 999999999"));
  EXPECT_EQ(refusal(), "") << "that process is gone";
  EXPECT_EQ(refusal(), "") << "the last one has ended well";
  without_locks = false;
}

TEST_F(LockFiles, SayWhyThereIsNone) {
  try {
    LockFile("/no/such/folder/lock", {.what = "the folder", .remedy = "take another"});
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kIo);
    EXPECT_THAT(error.what(), HasSubstr("/no/such/folder/lock: No such file or directory"));
  }
}

}  // namespace
}  // namespace zero
