// Ranks: 1
#include "zero/io/data/sample_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace zero {
namespace {

TEST(SampleThread, ReadsForAStepOnAThreadOfItsOwn) {
  std::vector<int64_t> steps;
  std::thread::id reader;
  SampleThread ahead([&](int64_t step) {
    steps.push_back(step);
    reader = std::this_thread::get_id();
  });
  EXPECT_FALSE(ahead.finish(1)) << "none has begun";
  for (int64_t step = 2; step < 50; ++step) {
    ahead.begin(step);
    EXPECT_TRUE(ahead.finish(step));
    EXPECT_EQ(steps.back(), step);
    EXPECT_NE(reader, std::this_thread::get_id());
  }
  EXPECT_FALSE(ahead.finish(49)) << "it was for one use";
  ahead.begin(50);
  EXPECT_FALSE(ahead.finish(52)) << "which is another step";
  EXPECT_EQ(steps.size(), 49u);
}

TEST(SampleThread, WorksWhileItsOwnerDoes) {
  std::atomic<bool> may_end = false, has_ended = false;
  SampleThread ahead([&](int64_t) {
    while (!may_end) std::this_thread::yield();
    has_ended = true;
  });
  ahead.begin(1);
  EXPECT_FALSE(has_ended) << "begin() does not wait";
  may_end = true;
  EXPECT_TRUE(ahead.finish(1));
  EXPECT_TRUE(has_ended);
}

TEST(SampleThread, ThrowsAsReadingDoesWhereTheStepIsUsed) {
  SampleThread ahead([](int64_t step) {
    if (step == 2) throw std::runtime_error("the file is damaged");
  });
  ahead.begin(2);
  EXPECT_THROW(ahead.finish(2), std::runtime_error);
  ahead.begin(3);
  EXPECT_TRUE(ahead.finish(3)) << "an error is of one step";
  ahead.begin(2);
  EXPECT_FALSE(ahead.finish(9)) << "nobody uses the step";
  ahead.begin(2);
}

}  // namespace
}  // namespace zero
