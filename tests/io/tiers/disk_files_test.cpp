// Ranks: 1
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/file_calls.hpp"
#include "tests/support/refusal.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/io/tiers/disk_tier.hpp"

namespace zero::tiers {
namespace {

using ::testing::HasSubstr;
using testing_support::failing_fallocate;
using testing_support::refused_open;

constexpr int64_t kBytes = 4 * kStripeBytes;

/// Two folders that are gone with the test; every call that was made to fail works again.
class DiskFilesIn : public ::testing::Test {
 protected:
  DiskFilesIn() {
    for (std::string* path : {&a_, &b_}) {
      char made[] = "disk_files_test_XXXXXX";
      *path = mkdtemp(made);
    }
  }
  ~DiskFilesIn() override {
    refused_open = {};
    failing_fallocate = 0;
    for (const std::string& path : {a_, b_}) std::filesystem::remove_all(path);
  }

  /// Whether what is written is read.
  static void expect_to_serve(const DiskFiles& files) {
    BlockTable table(kBytes);
    DiskTier tier(files, table, aio::make_engine({}).engine, {});
    const Arena memory(kBytes);
    const std::span bytes(memory.data(), size_t(kBytes));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i % 251);
    tier.write(0, bytes, 1);
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    tier.read(0, bytes);
    EXPECT_EQ(bytes[kBytes - 1], std::byte((kBytes - 1) % 251));
  }

  std::string a_, b_;
};

TEST_F(DiskFilesIn, AFileSystemWithoutNamelessFilesLeaveNoName) {
  for (const int error : {EOPNOTSUPP, EISDIR, ENOENT}) {
    refused_open = {.flags = O_TMPFILE, .error = error, .folder = a_};
    const DiskFiles files({.folders = {a_}, .bytes = kBytes});
    EXPECT_TRUE(std::filesystem::is_empty(a_)) << error;
    expect_to_serve(files);
  }
  refused_open = {.flags = O_TMPFILE, .error = EACCES, .folder = a_};
  EXPECT_THAT(testing_support::refusal_of(Exit::kIo,
                                          [&] { DiskFiles({.folders = {a_}, .bytes = kBytes}); }),
              HasSubstr("a file cannot be made there: Permission denied"));
}

TEST_F(DiskFilesIn, AFileSystemThatAllocatesNothingGrow) {
  failing_fallocate = EOPNOTSUPP;
  const DiskFiles files({.folders = {a_}, .bytes = kBytes});
  struct stat status {};
  ASSERT_EQ(fstat(files.range_at(0, 1).file->descriptor, &status), 0);
  EXPECT_EQ(status.st_size, kBytes);
  expect_to_serve(files);
  EXPECT_THAT(testing_support::refusal_of(
                  Exit::kIo, [&] { DiskFiles({.folders = {a_}, .bytes = int64_t(1) << 55}); }),
              HasSubstr("bytes are needed by this rank, "));
  failing_fallocate = EIO;
  EXPECT_THAT(testing_support::refusal_of(Exit::kIo,
                                          [&] { DiskFiles({.folders = {a_}, .bytes = kBytes}); }),
              HasSubstr("allocating 4194304 bytes: Input/output error"));
}

TEST_F(DiskFilesIn, FoldersOfWhichOneKnowsNoDirectTransfersWantWholePages) {
  const DiskFiles all({.folders = {a_, b_}, .bytes = kBytes});
  if (!all.direct()) GTEST_SKIP() << "no direct transfers here";
  EXPECT_EQ(all.align_bytes(), 4096);
  for (const std::string& folder : {a_, b_}) {
    refused_open = {.flags = O_DIRECT, .error = EINVAL, .folder = folder};
    const DiskFiles some({.folders = {a_, b_}, .bytes = kBytes});
    EXPECT_FALSE(some.direct());
    EXPECT_EQ(some.align_bytes(), 4096) << "for the other folder";
    expect_to_serve(some);
  }
  refused_open = {.flags = O_DIRECT, .error = EINVAL, .folder = "disk_files_test_"};
  const DiskFiles none({.folders = {a_, b_}, .bytes = kBytes});
  EXPECT_FALSE(none.direct());
  EXPECT_EQ(none.align_bytes(), 1);
}

TEST_F(DiskFilesIn, SeveralFoldersTakeTurnsAfterABlock) {
  constexpr int64_t kAll = 16 * kStripeBytes;
  const auto files = [&](int64_t block) {
    return DiskOptions{.folders = {a_, b_}, .bytes = kAll, .block_bytes = block};
  };
  const DiskFiles small(files(4096)), large(files(4 * kStripeBytes)), odd(files(kStripeBytes + 1));
  EXPECT_EQ(small.range_at(0, kAll).bytes, kStripeBytes);
  EXPECT_EQ(large.range_at(0, kAll).bytes, 4 * kStripeBytes);
  EXPECT_EQ(large.range_at(kStripeBytes, kAll / 2).bytes, 3 * kStripeBytes);
  EXPECT_EQ(large.range_at(4 * kStripeBytes, kAll / 2).file->name, b_);
  EXPECT_EQ(large.range_at(8 * kStripeBytes, kAll / 2).offset, 4 * kStripeBytes);
  EXPECT_EQ(odd.range_at(0, kAll).bytes, kStripeBytes + kDiskBlockBytes)
      << "whole blocks of checksums";
}

TEST_F(DiskFilesIn, TwoFoldersOnOneDiskHaveTheRoomOfOne) {
  const int64_t one = free_bytes({a_}), both = free_bytes({a_, b_});
  EXPECT_GT(one, 0);
  EXPECT_NEAR(double(both), double(one), 0.1 * double(one)) << "while others write there";
  EXPECT_THROW(free_bytes({"absent"}), Error);
}

TEST_F(DiskFilesIn, FoldersThatAreNoneAndDisksThatAreTooSmallAreRefused) {
  const auto refused = [](Exit exit, const std::string& folder, int64_t bytes) {
    return testing_support::refusal_of(exit,
                                       [&] { DiskFiles({.folders = {folder}, .bytes = bytes}); });
  };
  EXPECT_THAT(refused(Exit::kUsage, "", 1), HasSubstr("write the folder of a local disk"));
  EXPECT_THAT(refused(Exit::kUsage, "no_such_folder", 1), HasSubstr("nothing is created"));
  EXPECT_FALSE(std::filesystem::exists("no_such_folder"));
  EXPECT_THAT(refused(Exit::kUsage, "/proc/self/stat", 1), HasSubstr("stat: is no folder"));
  EXPECT_THAT(refused(Exit::kIo, a_, int64_t(1) << 50), HasSubstr("bytes are needed by this rank"));
}

}  // namespace
}  // namespace zero::tiers
