// Ranks: 1
#include "zero/io/tiers/disk_tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/faulty_engine.hpp"
#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"

namespace zero::tiers {
namespace {

using test::Fault, test::FaultyEngine;
using testing::HasSubstr;

/// A folder that is gone with the test.
class Folder {
 public:
  Folder() {
    char path[] = "disk_tier_test_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void fill(std::span<std::byte> memory, int salt) {
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i] = std::byte(uint8_t(i * 7 + i / 4099 + size_t(salt)));
  }
}

struct Refusal {
  Exit exit = Exit::kFinished;
  std::string what;
};

Refusal refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.exit(), error.what()};
  }
  return {};
}

std::unique_ptr<aio::Engine> threads() { return aio::make_thread_engine({.threads = 2}); }

std::unique_ptr<aio::Engine> always(Fault fault) {
  FaultyEngine::Chances chances{};
  chances[size_t(fault)] = 1.0;
  return std::make_unique<FaultyEngine>(threads(), 1, chances);
}

constexpr int64_t kBytes = 8 * kStripeBytes;

TEST(DiskTier, ReadsBackWhatWasWrittenInOneOrThreeFolders) {
  const Folder a, b, c;
  for (const auto& folders : {std::vector{a.path()}, {a.path(), b.path(), c.path()}}) {
    const DiskFiles files({.folders = folders, .bytes = kBytes});
    BlockTable table(files.bytes());
    DiskTier writer(files, table, threads(), {}), reader(files, table, threads(), {});
    const Arena out(kBytes), in(kBytes);
    const std::span written(out.data(), size_t(kBytes)), read(in.data(), size_t(kBytes));
    fill(written, 1);
    // Parts that begin and end inside stripes.
    const int64_t cut = 3 * kStripeBytes + 5 * kDiskBlockBytes;
    writer.write(0, written.first(size_t(cut)), 1);
    writer.write(cut, written.subspan(size_t(cut)), 1);
    reader.read(0, read.first(size_t(cut)));
    reader.read(cut, read.subspan(size_t(cut)));
    EXPECT_TRUE(std::equal(written.begin(), written.end(), read.begin()));
    EXPECT_EQ(writer.traffic().bytes_written, kBytes);
  }
}

TEST(DiskTier, LeavesNoFileBehindAndShowsNone) {
  const Folder folder;
  const DiskFiles files({.folders = {folder.path()}, .bytes = kBytes});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DiskTier, TwoJobsShareAFolder) {
  const Folder folder;
  const DiskFiles mine({.folders = {folder.path()}, .bytes = kStripeBytes});
  const DiskFiles theirs({.folders = {folder.path()}, .bytes = kStripeBytes});
  BlockTable my_table(kStripeBytes), their_table(kStripeBytes);
  DiskTier me(mine, my_table, threads(), {}), they(theirs, their_table, threads(), {});
  const Arena memory(kStripeBytes), back(kStripeBytes);
  const std::span bytes(memory.data(), size_t(kStripeBytes));
  fill(bytes, 1);
  me.write(0, bytes, 1);
  fill(bytes, 2);
  they.write(0, bytes, 1);
  me.read(0, {back.data(), size_t(kStripeBytes)});
  EXPECT_EQ(back.data()[0], std::byte{1});
}

TEST(DiskTier, FindsEveryWayInWhichADiskLies) {
  const Folder folder;
  for (Fault fault : {Fault::flipped, Fault::stale, Fault::misdirected, Fault::torn}) {
    for (const bool writes : {true, false}) {
      const DiskFiles files({.folders = {folder.path()}, .bytes = kBytes});
      BlockTable table(files.bytes());
      DiskTier good(files, table, threads(), {}), bad(files, table, always(fault), {});
      const Arena memory(kStripeBytes);
      const std::span bytes(memory.data(), size_t(kStripeBytes));
      fill(bytes, 1);
      good.write(0, bytes, 4);
      fill(bytes, 2);
      (writes ? bad : good).write(0, bytes, 5);
      fill(bytes, 3);
      const Refusal refused = refusal([&] { (writes ? good : bad).read(0, bytes); });
      EXPECT_EQ(refused.exit, Exit::kIo) << "fault " << int(fault) << " writes " << writes;
      EXPECT_THAT(refused.what, HasSubstr("written in step 5, reads back as other bytes"));
      EXPECT_THAT(refused.what, HasSubstr(folder.path()));
    }
  }
}

TEST(DiskFiles, RefusesFoldersThatAreNoneAndDisksThatAreTooSmall) {
  const auto refused = [](const std::string& folder, int64_t bytes) {
    return refusal([&] { const DiskFiles files({.folders = {folder}, .bytes = bytes}); });
  };
  EXPECT_EQ(refused("", 1).exit, Exit::kUsage);
  EXPECT_THAT(refused("", 1).what, HasSubstr("write the folder of a local disk"));
  EXPECT_EQ(refused("no_such_folder", 1).exit, Exit::kUsage);
  EXPECT_THAT(refused("no_such_folder", 1).what, HasSubstr("nothing is created"));
  EXPECT_FALSE(std::filesystem::exists("no_such_folder"));
  const Folder folder;
  const Refusal full = refused(folder.path(), int64_t(1) << 50);
  EXPECT_EQ(full.exit, Exit::kIo);
  EXPECT_THAT(full.what, HasSubstr("bytes are needed by this rank"));
}

}  // namespace
}  // namespace zero::tiers
