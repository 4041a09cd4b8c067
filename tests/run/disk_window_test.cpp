// Ranks: 1
#include "zero/run/disk_window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/faulty_engine.hpp"
#include "tests/support/hand_plan.hpp"
#include "tests/support/rank_disk.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"
#include "zero/base/error.hpp"

namespace zero::run {
namespace {

using plan::Tier;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Two buffers on disk, of three blocks and a part, seen through a window of two blocks.
struct OnDisk {
  static constexpr int64_t kBlock = plan::kDiskExtentAlignBytes, kBytes = 3 * kBlock + 4096;
  testing::HandPlan hand;
  int32_t state = hand.keep("state", kBytes, Tier::nvme);
  int32_t other = hand.keep("other", kBytes, Tier::nvme);
  OnDisk() { hand.plan.disk_window = hand.keep("window", 2 * kBlock, Tier::host); }
};

std::vector<std::byte> all_of(Executor& executor, int32_t buffer) {
  std::vector<std::byte> bytes(size_t(OnDisk::kBytes));
  executor.buffers().read(buffer, 0, bytes);
  return bytes;
}

TEST(DiskWindow, BuffersBeginWithZerosAndKeepWhatIsWrittenWhereverItBegins) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  std::vector<std::byte> expected(size_t(OnDisk::kBytes));
  EXPECT_EQ(all_of(executor, place.state), expected);
  // Within a block, across borders of blocks and of the window, up to the end.
  for (const int64_t begin : {int64_t(5), OnDisk::kBlock - 3, 2 * OnDisk::kBlock - 1}) {
    const std::vector<std::byte> part(size_t(OnDisk::kBytes - 2 * OnDisk::kBlock),
                                      std::byte(uint8_t(begin % 100 + 1)));
    executor.buffers().write(place.state, begin, part);
    std::copy(part.begin(), part.end(), expected.begin() + begin);
    EXPECT_EQ(all_of(executor, place.state), expected);
  }
  EXPECT_EQ(all_of(executor, place.other), std::vector<std::byte>(size_t(OnDisk::kBytes)));
}

TEST(DiskWindow, ABlockIsWrittenOnceBeforeTheFirstBodyAndNotReadForIt) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  const std::vector<std::byte> whole(size_t(2 * OnDisk::kBlock), std::byte(7));
  executor.buffers().write(place.state, OnDisk::kBlock, whole);
  executor.disk()->fill();
  EXPECT_EQ(disk.lanes().write->traffic().bytes_written, 2 * OnDisk::kBytes);
  EXPECT_EQ(disk.lanes().read->traffic().bytes_read, 0);
  executor.disk()->fill();
  EXPECT_EQ(disk.lanes().write->traffic().bytes_written, 2 * OnDisk::kBytes) << "and not again";
  std::vector<std::byte> expected(size_t(OnDisk::kBytes));
  std::copy(whole.begin(), whole.end(), expected.begin() + OnDisk::kBlock);
  EXPECT_EQ(all_of(executor, place.state), expected);
}

TEST(DiskWindow, ATrialReadsEverythingAndWritesOnlyWhereItIsTold) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  const std::vector<std::byte> part(100, std::byte(7));
  executor.buffers().write(place.state, 5, part);
  executor.disk()->fill();
  const std::vector<std::byte> before = all_of(executor, place.state);
  DiskTiming trial = executor.disk()->try_out(60, false);
  EXPECT_EQ(trial.read.bytes, 2 * OnDisk::kBytes);
  EXPECT_EQ(trial.write.bytes, 0);
  EXPECT_GT(trial.read.rate(), 0);
  trial = executor.disk()->try_out(60, true);
  EXPECT_EQ(trial.write.bytes, 2 * OnDisk::kBytes);
  EXPECT_EQ(all_of(executor, place.state), before) << "the same bytes";
  EXPECT_EQ(executor.disk()->try_out(0, true).read.bytes, 0) << "no time";
}

TEST(DiskWindow, IsWrittenOnceMoreAsItIs) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  executor.buffers().write(place.state, 5, std::vector<std::byte>(100, std::byte(7)));
  executor.disk()->fill();
  const std::vector<std::byte> before = all_of(executor, place.state);
  const int64_t written = disk.lanes().write->traffic().bytes_written;
  executor.disk()->rewrite();
  EXPECT_EQ(disk.lanes().write->traffic().bytes_written, written + 2 * OnDisk::kBytes);
  EXPECT_EQ(all_of(executor, place.state), before);
}

TEST(DiskWindow, ATrialWritesFirstWhatNobodyHasWritten) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  const DiskTiming trial = executor.disk()->try_out(60, false);
  EXPECT_EQ(trial.write.bytes, 2 * OnDisk::kBytes);
  EXPECT_EQ(trial.read.bytes, 2 * OnDisk::kBytes);
}

TEST(DiskWindow, APartOfABlockKeepsTheRestOfIt) {
  OnDisk place;
  testing::RankDisk disk(place.hand.plan);
  Executor executor(place.hand.plan, {}, {}, disk.lanes());
  std::vector<std::byte> expected(size_t(OnDisk::kBytes), std::byte(1));
  executor.buffers().write(place.state, 0, expected);
  // The first part of a block, the last one, one in between, and the short block at the end.
  for (const int64_t begin :
       {int64_t(0), OnDisk::kBlock - 8, OnDisk::kBlock + 100, OnDisk::kBytes - 8}) {
    const std::vector<std::byte> part(8, std::byte(2));
    executor.buffers().write(place.state, begin, part);
    std::copy(part.begin(), part.end(), expected.begin() + begin);
    EXPECT_EQ(all_of(executor, place.state), expected) << "from byte " << begin << " on";
  }
}

TEST(ReadAhead, TakesItsTimeFromTheRunThatNeededIt) {
  testing::HandPlan hand;
  hand.clear(hand.keep("ahead", 8), plan::Lane::reduce);
  hand.plan.bodies[plan::kReadAhead].ops.swap(hand.plan.bodies[plan::kStep].ops);
  hand.clear(hand.keep("own", 8));
  Executor executor(hand.plan, {}, {});
  executor.set_op_hook([](plan::Lane, const plan::PlanOp&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  executor.run(plan::kStep, {});
  EXPECT_EQ(executor.reads_ahead(), 1);
  EXPECT_GT(executor.times()[size_t(plan::Lane::reduce)].busy_seconds, 0.04);
  EXPECT_GT(executor.times()[size_t(plan::Lane::compute)].busy_seconds, 0.04);
  executor.run(plan::kStep, {});
  EXPECT_EQ(executor.times()[size_t(plan::Lane::reduce)].busy_seconds, 0) << "there was none";
}

TEST(DiskWindow, APlanWithBytesOnDiskNeedsOne) {
  OnDisk place;
  EXPECT_THAT([&] { Executor(place.hand.plan, {}, {}); },
              ThrowsMessage<Error>(HasSubstr("bytes on disk needs one")));
}

// The checksums of what was written stay in memory, so no op of a step takes another bit.
TEST(DiskWindow, ABitThatADiskTurnsEndsTheStepWithItsPlace) {
  const plan::Plan plan = testing::tiny_plan({.stage = 1, .optimizer_home = Tier::nvme});
  testing::FaultyEngine::Chances flips{};
  flips[size_t(testing::Fault::flipped)] = 1.0;
  testing::RankDisk disk(plan, ".",
                         std::make_unique<testing::FaultyEngine>(
                             aio::make_thread_engine({.depth = 4, .threads = 1}), 1, flips));
  Executor executor(plan, testing::tiny_rules(Dtype::f32), {}, disk.lanes());
  EXPECT_THAT([&] { executor.run(plan::kStep, testing::tiny_inputs(plan, 1)); },
              ThrowsMessage<Error>(HasSubstr("reads back as other bytes than were written")));
}

}  // namespace
}  // namespace zero::run
