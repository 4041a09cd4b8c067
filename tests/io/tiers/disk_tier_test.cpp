// Ranks: 1
#include "zero/io/tiers/disk_tier.hpp"

#include <fcntl.h>
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
#include "zero/io/files/open_file.hpp"

namespace zero::tiers {
namespace {

using testing::Fault;
using testing::FaultyEngine;
using ::testing::HasSubstr;
using testing::Strike;

/// A folder that is gone with the test.
class Folder {
 public:
  Folder() { mkdtemp(path_.data()); }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "disk_tier_test_XXXXXX";
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

/// Calls `look` whenever blocks may have come back.
class SeenEngine final : public aio::Engine {
 public:
  explicit SeenEngine(std::function<void()> look) : look_(std::move(look)) {}
  std::string_view name() const override { return "seen"; }
  int depth() const override { return inner_->depth(); }
  std::string register_memory(std::span<std::byte>) override { return ""; }
  void start(const aio::Block& block, uint64_t tag) override { inner_->start(block, tag); }
  void flush() override { inner_->flush(); }
  void reap(bool wait, std::vector<aio::Completion>& completed) override {
    look_();
    inner_->reap(wait, completed);
  }

 private:
  std::function<void()> look_;
  std::unique_ptr<aio::Engine> inner_ = threads();
};

TEST(DiskTier, ShowsHowFarAMoveIsBlockByBlock) {
  const Folder folder;
  const DiskFiles files({.folders = {folder.path()}, .bytes = kBytes});
  BlockTable table(files.bytes());
  std::vector<int64_t> moved;
  bool always_moving = true;
  DiskTier* seen = nullptr;
  auto engine = std::make_unique<SeenEngine>([&] {
    moved.push_back(seen->moved_bytes());
    always_moving = always_moving && seen->is_moving();
  });
  DiskTier tier(files, table, std::move(engine), {});
  seen = &tier;
  const Arena memory(kBytes);
  EXPECT_FALSE(tier.is_moving());
  tier.write(0, {memory.data(), size_t(kBytes)}, 1);
  EXPECT_TRUE(always_moving);
  EXPECT_FALSE(tier.is_moving());
  EXPECT_EQ(moved.front(), 0);
  EXPECT_EQ(tier.moved_bytes(), kBytes);
  EXPECT_TRUE(std::ranges::any_of(moved, [](int64_t b) { return b > 0 && b < kBytes; }));
  const auto fails = [&] { tier.read(0, {memory.data(), size_t(kBytes)}); };
  memory.data()[0] = std::byte{1};
  table.note(0, {memory.data(), size_t(kDiskBlockBytes)}, 2);
  EXPECT_EQ(refusal(fails).exit, Exit::kIo);
  EXPECT_FALSE(tier.is_moving()) << "after a failure too";
  EXPECT_EQ(tier.moved_bytes(), 2 * kBytes) << "all that was on its way came";
}

TEST(DiskTier, LeavesChecksumsToAUserWhoWantsThem) {
  const Folder folder;
  const DiskFiles files({.folders = {folder.path()}, .bytes = kBytes});
  BlockTable table(files.bytes());
  DiskTier good(files, table, threads(), {}), bad(files, table, always(Fault::flipped), {});
  const Arena memory(kStripeBytes);
  const std::span bytes(memory.data(), size_t(kStripeBytes));
  const auto block = bytes.subspan(size_t(kDiskBlockBytes), size_t(kDiskBlockBytes));
  fill(bytes, 1);
  good.write(0, bytes, 4);
  bad.read(0, bytes, Sums::by_user);
  EXPECT_EQ(refusal([&] { good.check(0, bytes); }).exit, Exit::kIo);
  good.read(0, bytes, Sums::by_user);
  good.check(0, bytes);
  fill(bytes, 2);
  EXPECT_EQ(refusal([&] { good.check(kDiskBlockBytes, block); }).exit, Exit::kIo);
  good.note(0, bytes, 5);
  good.write(0, bytes, 5, Sums::by_user);
  fill(bytes, 3);
  good.read(0, bytes);
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

/// How a move of 16 blocks must end under a fault: "" with the same bytes, else with these words.
std::string due(const Strike& strike) {
  switch (strike.fault) {
    case Fault::none:
    case Fault::shortened:
    case Fault::late:
      return "";
    case Fault::nothing:
    case Fault::interrupted:
      return strike.lasting ? "no byte moved in 16 attempts" : "";
    case Fault::eio:
      return "Input/output error (errno 5)";
    case Fault::enospc:
      return "No space left on device (errno 28)";
    default:
      return "reads back as other bytes";
  }
}

/// Writes 16 blocks and reads them back, one of both over a disk that fails as told.
class StruckRound {
 public:
  StruckRound()
      : files_({.folders = {folder_.path()}, .bytes = 2 * kBytes_}), table_(2 * kBytes_) {}

  void expect_due(const Strike& strike, bool writes) {
    const std::span out(out_.data(), size_t(kBytes_)), in(in_.data(), size_t(kBytes_));
    fill(out, ++turn_);
    fill(in, -turn_);
    const Refusal refused = refusal([&] {
      DiskTier writer = tier(writes ? strike : Strike{}), reader = tier(writes ? Strike{} : strike);
      writer.write(0, out, turn_);
      reader.read(0, in);
    });
    const std::string words = due(strike);
    EXPECT_EQ(refused.exit, words.empty() ? Exit::kFinished : Exit::kIo) << refused.what;
    EXPECT_THAT(refused.what, HasSubstr(words));
    EXPECT_THAT(refused.what, HasSubstr(words.empty() ? "" : folder_.path()));
    if (words.empty()) {
      EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    }
  }

 private:
  static constexpr int64_t kBytes_ = 16 * kDiskBlockBytes;

  DiskTier tier(const Strike& strike) {
    return {files_,
            table_,
            std::make_unique<FaultyEngine>(threads(), strike),
            {.block_bytes = kDiskBlockBytes}};
  }

  Folder folder_;
  DiskFiles files_;
  BlockTable table_;
  Arena out_{kBytes_}, in_{kBytes_};
  int turn_ = 0;
};

std::vector<Strike> all_strikes() {
  std::vector<Strike> all;
  for (int fault = 1; fault < testing::kFaults; ++fault) {
    for (uint32_t block = 0; block < 16; ++block) {
      all.push_back({.fault = Fault(fault), .block = block, .lasting = false});
      all.push_back({.fault = Fault(fault), .block = block, .lasting = true});
    }
  }
  return all;
}

TEST(DiskTier, AbsorbsOrNamesEachOf640Faults) {
  StruckRound round;
  EXPECT_EQ(2 * all_strikes().size(), 640u);
  for (const Strike& strike : all_strikes()) {
    for (const bool writes : {false, true}) {
      SCOPED_TRACE(text("fault ", int(strike.fault), " block ", strike.block,
                        strike.lasting ? " lasting" : " once", writes ? " writing" : " reading"));
      round.expect_due(strike, writes);
    }
  }
}

/// Moves nothing, and remembers how much it had at a time.
class CountingEngine final : public aio::Engine {
 public:
  CountingEngine(int depth, size_t& most) : depth_(depth), most_(most) {}
  std::string_view name() const override { return "counting"; }
  int depth() const override { return depth_; }
  std::string register_memory(std::span<std::byte>) override { return ""; }
  void start(const aio::Block& block, uint64_t tag) override {
    waiting_.push_back({tag, block.bytes});
    most_ = std::max(most_, waiting_.size());
  }
  void flush() override {}
  void reap(bool wait, std::vector<aio::Completion>& completed) override {
    if (!wait || waiting_.empty()) return;
    completed.push_back(waiting_.front());
    waiting_.erase(waiting_.begin());
  }

 private:
  int depth_;
  size_t& most_;
  std::vector<aio::Completion> waiting_;
};

TEST(DiskTier, HasAsManyBlocksUnderWayAsItsEngineTakes) {
  constexpr int64_t kBlocks = 300;
  const Folder folder;
  const DiskFiles files({.folders = {folder.path()}, .bytes = kBlocks * kStripeBytes});
  BlockTable table(files.bytes());
  // The bytes are looked at by nobody, and take no memory.
  const Arena memory(files.bytes());
  for (const int depth : {1, 8, 100, 250}) {
    size_t most = 0;
    DiskTier tier(files, table, std::make_unique<CountingEngine>(depth, most),
                  {.block_bytes = kStripeBytes});
    tier.read(0, {memory.data(), size_t(memory.bytes())}, Sums::by_user);
    EXPECT_EQ(most, size_t(depth));
  }
}

using DiskBlock = std::vector<std::byte>;

/// What somebody else may do to block `index` of a file on disk; `old` is what it held before.
DiskBlock damaged(size_t index, DiskBlock now, const DiskBlock& old, const DiskBlock& other) {
  const size_t place = index * 7919 % now.size();
  switch (index % 5) {
    case 0:
      now[place] ^= std::byte{1};
      return now;
    case 1:
      std::fill_n(now.begin() + int64_t(place / 512 * 512), 512, std::byte{0});
      return now;
    case 2:
      std::copy_n(old.begin(), now.size() / 2, now.begin());
      return now;
    case 3:
      return old;
    default:
      return other;
  }
}

/// The blocks of a disk as another process would reach them.
class BackDoor {
 public:
  explicit BackDoor(const DiskFiles& files)
      : file_(open(text("/proc/self/fd/", files.range_at(0, 1).file->descriptor).c_str(), O_RDWR)) {
  }
  DiskBlock read(size_t index) const {
    DiskBlock block(size_t(kDiskBlockBytes), std::byte{0});
    EXPECT_EQ(pread(file_.descriptor(), block.data(), block.size(), place(index)), kDiskBlockBytes);
    return block;
  }
  void write(size_t index, const DiskBlock& block) const {
    EXPECT_EQ(pwrite(file_.descriptor(), block.data(), block.size(), place(index)),
              kDiskBlockBytes);
  }

 private:
  static off_t place(size_t index) { return off_t(index) * kDiskBlockBytes; }
  OpenFile file_;
};

TEST(DiskTier, FindsEachOf200DamagedBlocks) {
  constexpr size_t kBlocks = 201, kDamaged = 200;
  const int64_t bytes = int64_t(kBlocks) * kDiskBlockBytes;
  const Folder folder;
  const DiskFiles files({.folders = {folder.path()}, .bytes = bytes});
  BlockTable table(bytes);
  DiskTier tier(files, table, threads(), {});
  const Arena memory(bytes);
  const std::span all(memory.data(), size_t(bytes));
  const BackDoor door(files);
  fill(all, 1);
  tier.write(0, all, 1);
  std::vector<DiskBlock> old;
  for (size_t i = 0; i < kBlocks; ++i) old.push_back(door.read(i));
  fill(all, 2);
  tier.write(0, all, 2);
  const DiskBlock last = door.read(kDamaged);
  for (size_t i = 0; i < kDamaged; ++i) {
    door.write(i, damaged(i, door.read(i), old[i], last));
  }
  const std::span block = all.first(size_t(kDiskBlockBytes));
  for (size_t i = 0; i < kDamaged; ++i) {
    const Refusal refused = refusal([&] { tier.read(int64_t(i) * kDiskBlockBytes, block); });
    EXPECT_EQ(refused.exit, Exit::kIo) << i;
    EXPECT_THAT(refused.what, HasSubstr(text("block at offset ", int64_t(i) * kDiskBlockBytes,
                                             ", written in step 2, reads back as other bytes")));
  }
  tier.read(int64_t(kDamaged) * kDiskBlockBytes, block);
}

}  // namespace
}  // namespace zero::tiers
