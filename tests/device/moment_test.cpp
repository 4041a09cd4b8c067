// Ranks: 1
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "zero/device/copy.hpp"
#include "zero/device/stream.hpp"

namespace zero {
namespace {

TEST(Moment, TellsTheSecondsBetweenTwoMarksOnDifferentStreams) {
  Stream first(1), second(1);
  Moment begin, end;
  begin.mark(first);
  begin.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end.mark(second);
  end.wait();
  EXPECT_GT(end.seconds_since(begin), 0.019);
  EXPECT_LT(end.seconds_since(begin), 5);
}

TEST(Moment, IsReachedWhenTheWorkBeforeItIsDone) {
  Stream stream(1);
  Moment moment;
  EXPECT_TRUE(moment.reached()) << "nothing is marked";
  std::vector<std::byte> from(1000, std::byte(3)), to(1000);
  for (int turn = 0; turn < 3; ++turn) {
    from[0] = std::byte(turn);
    copy_bytes(stream, from, to.data());
    moment.mark(stream);
    moment.wait();
    EXPECT_TRUE(moment.reached());
    EXPECT_EQ(to, from);
  }
}

}  // namespace
}  // namespace zero
