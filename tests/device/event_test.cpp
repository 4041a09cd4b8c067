// Ranks: 1

#include <gtest/gtest.h>

#include <vector>

#include "zero/device/copy.hpp"
#include "zero/device/stream.hpp"

namespace zero {
namespace {

TEST(Event, WhatAnotherStreamQueuesBehindItSeesTheWorkBeforeIt) {
  Stream first(1), second(1);
  Event event;
  std::vector<std::byte> from(1000, std::byte(3)), between(1000), to(1000);
  copy_bytes(first, from, between.data());
  event.record(first);
  event.hold(second);
  copy_bytes(second, between, to.data());
  second.wait();
  EXPECT_EQ(to, from);
}

TEST(Event, MayBeWaitedForBeforeAnythingIsRecordedAndAgainAfterwards) {
  Stream stream(1);
  Event event;
  event.hold(stream);
  event.wait();
  std::vector<std::byte> from(10, std::byte(3)), to(10);
  for (int turn = 0; turn < 3; ++turn) {
    from[0] = std::byte(turn);
    copy_bytes(stream, from, to.data());
    event.record(stream);
    event.wait();
    EXPECT_EQ(to, from);
  }
}

}  // namespace
}  // namespace zero
