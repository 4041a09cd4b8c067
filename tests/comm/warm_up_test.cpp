// Ranks: 1 2
#include "zero/comm/warm_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/lazy_communicator.hpp"
#include "tests/support/rank_groups.hpp"
#include "zero/device/device.hpp"

namespace zero::comm {
namespace {

using ::testing::ElementsAre;
using testing::FakeDevice;
using testing::LazyCommunicator;

/// Communicators of hosts take no memory of a device.
class WarmUp : public ::testing::Test {
 protected:
  void SetUp() override {
    if (drives_devices()) GTEST_SKIP() << "these communicators are a host's";
  }
};

TEST_F(WarmUp, RunsTheVerbsOfALaneAndNoOther) {
  FakeDevice device(100);
  LazyCommunicator gathers(make_mpi({}), device, 1), others(make_mpi({}), device, 10);
  warm_up(gathers, {.gathers = true}, 0);
  EXPECT_THAT(gathers.called(), ElementsAre("all_gather"));
  EXPECT_EQ(device.used(), 1);
  warm_up(others, {.reduces = true, .sums = true}, 0);
  EXPECT_THAT(others.called(), ElementsAre("all_reduce", "reduce_scatter"));
  EXPECT_EQ(device.used(), 21);
  warm_up(others, {.reduces = true, .sums = true}, 0);
  EXPECT_EQ(device.used(), 21) << "a second time takes nothing";
}

TEST_F(WarmUp, GathersLittleAndMuch) {
  const auto comm = make_mpi({});
  const int64_t ranks = comm->ranks();
  warm_up(*comm, {.gathers = true}, 0);
  EXPECT_EQ(comm->traffic().all_gather.calls, 2) << "a whole shard, and a piece of it";
  EXPECT_EQ(comm->traffic().all_gather.elements_sent, (64 + 32) * (ranks - 1));
  // 1000 elements of each rank are 15 times 64 and some.
  warm_up(*comm, {.gathers = true}, 2 * ranks * 1000);
  EXPECT_EQ(comm->traffic().all_gather.calls, 6);
  EXPECT_EQ(comm->traffic().all_gather.elements_sent, (2 * (64 + 32) + 960 + 480) * (ranks - 1));
}

TEST_F(WarmUp, HasRoomForTheSumsOfGroups) {
  if (make_mpi({})->ranks() > 1) return;
  testing::as_threads(66, 1, [](testing::Members& members) {
    warm_up(*members[0], {.gathers = true, .reduces = true, .sums = true}, 1 << 20);
    EXPECT_EQ(members[0]->traffic().reduce_scatter.calls, 1);
  });
}

TEST_F(WarmUp, EndsAsTheVerbDoesWhereMemoryRunsOut) {
  FakeDevice device(5);
  LazyCommunicator comm(make_self(), device, 6);
  try {
    warm_up(comm, {.sums = true}, 0);
    FAIL() << "6 bytes are more than 5";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kDoesNotFit);
  }
}

}  // namespace
}  // namespace zero::comm
