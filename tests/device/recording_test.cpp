// Ranks: 1
#include <gtest/gtest.h>

#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/stream.hpp"

namespace zero {
namespace {

struct Blocks {
  Arena from{1000, Place::pinned}, to{1000, Place::pinned};
  Stream stream{1};
  void copy() { copy_bytes(stream, {from.data(), 1000}, to.data()); }
};

TEST(Recording, RunsWhatWasRecordedOnTheBytesOfToday) {
  if (!Recording::is_possible()) GTEST_SKIP() << "a host's streams are not recorded";
  Blocks blocks;
  blocks.copy();
  Recording recording;
  recording.make(blocks.stream, [&] { blocks.copy(); });
  ASSERT_TRUE(recording.is_made());
  for (int turn = 1; turn < 4; ++turn) {
    blocks.from.data()[7] = std::byte(turn);
    EXPECT_NE(blocks.to.data()[7], std::byte(turn)) << "recorded, not run";
    recording.queue(blocks.stream);
    blocks.stream.wait();
    EXPECT_EQ(blocks.to.data()[7], std::byte(turn));
  }
}

TEST(Recording, IsRefusedOnAHostAndGivenUpWhenWorkThrows) {
  Blocks blocks;
  Recording recording;
  const auto fails = [] { refuse(Exit::kNumerics, "no"); };
  EXPECT_THROW(recording.make(blocks.stream, fails), Error);
  EXPECT_FALSE(recording.is_made());
  blocks.from.data()[0] = std::byte(9);
  blocks.copy();
  blocks.stream.wait();
  EXPECT_EQ(blocks.to.data()[0], std::byte(9));
}

}  // namespace
}  // namespace zero
