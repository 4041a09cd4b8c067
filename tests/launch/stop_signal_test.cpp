// Ranks: 1
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "zero/launch/stop.hpp"

namespace zero::launch {
namespace {

using std::chrono::milliseconds;

TEST(StopSignal, SIGCONTAsksForNothing) {
  const StopSignal signals;
  std::raise(SIGCONT);
  EXPECT_EQ(StopSignal::received(), 0);
}

TEST(StopSignal, TheFirstOneIsKeptForTheStepBoundary) {
  const StopSignal signals;
  std::raise(SIGTERM);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
  EXPECT_EQ(StopSignal::name_of(SIGTERM), "SIGTERM");
}

TEST(StopSignal, WhatAnEarlierRunReceivedIsForgotten) {
  {
    const StopSignal signals;
    std::raise(SIGTERM);
  }
  const StopSignal signals;
  EXPECT_EQ(StopSignal::received(), 0);
}

TEST(StopSignal, TheSameOneAtOnceIsOne) {
  const StopSignal signals;
  for (int i = 0; i < 3; ++i) std::raise(SIGTERM);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST(StopSignalDeathTest, ASecondOneEndsTheProcess) {
  const auto twice = [](int second, milliseconds later) {
    const StopSignal signals;
    std::raise(SIGTERM);
    std::this_thread::sleep_for(later);
    std::raise(second);
  };
  EXPECT_EXIT(twice(SIGTERM, milliseconds(250)), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(twice(SIGINT, milliseconds(0)), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace zero::launch
