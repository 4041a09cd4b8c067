// Ranks: 1
#include "zero/state/engine.hpp"

#include <gtest/gtest.h>

namespace zero::state {
namespace {

using plan::Kind;
using plan::Lane;

TEST(LaneReport, TellsOfLanesThatMovedBytesAndOfCompute) {
  LaneUses lanes{};
  EXPECT_EQ(lane_table(lanes), "");
  lanes[size_t(Lane::compute)] = {.busy_seconds = 10, .waited_seconds = 1.5};
  lanes[size_t(Lane::host_optimizer)] = {.busy_seconds = 3, .waited_seconds = 7};
  EXPECT_EQ(lane_table(lanes), "") << "no lane has moved bytes";
  lanes[size_t(Lane::disk_read)] = {
      .busy_seconds = 2, .waited_seconds = 8, .bytes = int64_t(3) << 30};
  EXPECT_EQ(lane_table(lanes),
            "lanes of rank 0, beside each other\n"
            "  compute            10.00 s busy      1.50 s waiting\n"
            "  disk read           2.00 s busy      8.00 s waiting      3.00 GiB     1.61 GB/s\n");
}

TEST(LaneReport, TellsOfALaneThatMovedOneByte) {
  LaneUses lanes{};
  lanes[size_t(Lane::d2h)].bytes = 1;
  EXPECT_NE(lane_table(lanes), "");
}

TEST(LaneReport, CountsWhatCopiesMoveByLane) {
  plan::Body body;
  const auto add = [&](Lane lane, Kind kind, int64_t bytes) {
    body.ops.push_back({.kind = kind, .lane = lane});
    body.ops.back().operands = {{.bytes = bytes}, {.bytes = bytes}};
  };
  add(Lane::h2d, Kind::copy, 100);
  add(Lane::h2d, Kind::copy, 20);
  add(Lane::d2h, Kind::copy, 3);
  add(Lane::disk_read, Kind::disk_read, 4000);
  const auto bytes = copied_bytes(body);
  EXPECT_EQ(bytes[size_t(Lane::h2d)], 120);
  EXPECT_EQ(bytes[size_t(Lane::d2h)], 3);
  EXPECT_EQ(bytes[size_t(Lane::disk_read)], 0) << "which its queue counts";
}

}  // namespace
}  // namespace zero::state
