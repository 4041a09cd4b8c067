// Ranks: 1 2 3 4

#include "tests/support/fake_nccl/fake_nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/fake_nccl/fixture.hpp"
#include "tests/support/fake_nccl/nccl.h"
#include "tests/support/rank_groups.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::comm {
namespace {

using testing::FakeNccl;
using testing::processes;

// The caller itself breaks each rule: a stand-in that notices nothing proves nothing.

/// A communicator without nccl.cpp.
ncclComm_t bare_communicator() {
  fake_nccl::choose_device();
  const World world;
  ncclUniqueId mine{};
  if (world.rank() == 0) {
    EXPECT_EQ(ncclGetUniqueId(&mine), ncclSuccess);
  }
  const ncclUniqueId id = world.gather(mine).front();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.splitShare = 1;
  ncclComm_t made = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&made, world.ranks(), id, world.rank(), &config), ncclSuccess);
  return made;
}

TEST_F(FakeNccl, NoticesAnAbortWithoutAFailure) {
  ncclCommAbort(bare_communicator());
  expect_violation("an abort without a failure");
}

TEST_F(FakeNccl, NoticesAnEndThatIsWaitedForBehindAFailure) {
  ncclComm_t comm = bare_communicator();
  fake_nccl::faults().fail_call = 1;
  Stream stream(1);
  int64_t word = 1;
  EXPECT_EQ(ncclAllReduce(&word, &word, 1, ncclInt64, ncclSum, comm, native_stream(stream)),
            ncclRemoteError);
  EXPECT_NE(ncclCommFinalize(comm), ncclSuccess);
  expect_violation("waited for behind a failure");
  ncclCommAbort(comm);
}

TEST_F(FakeNccl, NoticesAnEndThatIsNotFinalized) {
  ncclCommDestroy(bare_communicator());
  expect_violation("peers may not have come to");
}

TEST_F(FakeNccl, NoticesTwoOrdersOfCollectives) {
  if (processes() == 1) GTEST_SKIP() << "one rank has one order";
  ncclComm_t comms[2] = {bare_communicator(), bare_communicator()};
  Stream stream(1);
  int64_t word = 1;
  const bool turned = World().rank() == 0;
  ncclResult_t status = ncclSuccess;
  for (const int i : {turned ? 1 : 0, turned ? 0 : 1}) {
    const ncclResult_t found =
        ncclAllReduce(&word, &word, 1, ncclInt64, ncclSum, comms[i], native_stream(stream));
    if (status == ncclSuccess) status = found;
  }
  EXPECT_NE(status, ncclSuccess);
  for (ncclComm_t comm : comms) ncclCommAbort(comm);
  // A rank may hear of it from another one.
  if (!fake_nccl::violation().empty()) expect_violation("no one order");
}

TEST_F(FakeNccl, NoticesASecondThreadInACall) {
  if (processes() == 1) GTEST_SKIP() << "one rank waits for nobody";
  ncclComm_t comms[2] = {bare_communicator(), bare_communicator()};
  if (World().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto sum = [&](ncclComm_t comm) {
    Stream stream(1);
    int64_t word = 1;
    return ncclAllReduce(&word, &word, 1, ncclInt64, ncclSum, comm, native_stream(stream));
  };
  ncclResult_t other = ncclSuccess;
  std::thread thread([&] { other = sum(comms[1]); });
  const ncclResult_t mine = sum(comms[0]);
  thread.join();
  EXPECT_TRUE(mine != ncclSuccess || other != ncclSuccess);
  for (ncclComm_t comm : comms) ncclCommAbort(comm);
  if (World().rank() == 1) expect_violation("a second thread is in a call");
  if (!fake_nccl::violation().empty()) expect_violation("");
}

TEST_F(FakeNccl, NoticesRanksThatCallDifferentThings) {
  if (processes() == 1) GTEST_SKIP() << "one rank agrees with itself";
  ncclComm_t comm = bare_communicator();
  Stream stream(1);
  std::vector<int64_t> words(2);
  EXPECT_NE(ncclAllReduce(words.data(), words.data(), World().rank() == 0 ? 1 : 2, ncclInt64,
                          ncclSum, comm, native_stream(stream)),
            ncclSuccess);
  ncclCommAbort(comm);
  if (!fake_nccl::violation().empty()) expect_violation(" calls all_reduce of ");
}

TEST_F(FakeNccl, NoticesMemoryAndWindowsThatEndTooSoon) {
  ncclComm_t comm = bare_communicator();
  void* block = nullptr;
  ncclWindow_t window = nullptr;
  EXPECT_EQ(ncclMemAlloc(&block, 8192), ncclSuccess);
  EXPECT_EQ(ncclCommWindowRegister(comm, block, 8192, &window, NCCL_WIN_COLL_SYMMETRIC),
            ncclSuccess);
  EXPECT_NE(ncclMemFree(block), ncclSuccess);
  expect_violation("memory ends before its window");
  EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
  EXPECT_NE(ncclCommWindowDeregister(comm, window), ncclSuccess);
  EXPECT_EQ(ncclMemFree(block), ncclSuccess);
  ncclCommAbort(comm);
}

TEST_F(FakeNccl, NoticesAThreadThatHasChosenNoDevice) {
  const auto take = [] {
    void* block = nullptr;
    EXPECT_NE(ncclMemAlloc(&block, 8192), ncclSuccess);
  };
  std::thread(take).join();
  expect_violation("a thread that has chosen no device");
}

TEST_F(FakeNccl, NoticesBuffersAtOddPlaces) {
  fake_nccl::faults().strict = 1;
  ncclComm_t comm = bare_communicator();
  Stream stream(1);
  alignas(16) char bytes[64] = "";
  EXPECT_NE(ncclBroadcast(bytes + 1, bytes + 1, 32, ncclUint8, 0, comm, native_stream(stream)),
            ncclSuccess);
  expect_violation("no multiple of 16");
  ncclCommAbort(comm);
}

TEST_F(FakeNccl, NoticesABufferThatLeavesItsWindowAndOneOutsideOfAll) {
  for (const bool strict : {false, true}) {
    fake_nccl::reset();
    fake_nccl::faults().strict = strict;
    ncclComm_t comm = bare_communicator();
    void* block = nullptr;
    ncclWindow_t window = nullptr;
    ncclMemAlloc(&block, 8192);
    ncclCommWindowRegister(comm, block, 8192, &window, NCCL_WIN_COLL_SYMMETRIC);
    Stream stream(1);
    alignas(16) char outside[64] = "";
    char* const place = strict ? outside : static_cast<char*>(block) + 8192 - 16;
    EXPECT_NE(ncclBroadcast(place, place, 32, ncclUint8, 0, comm, native_stream(stream)),
              ncclSuccess);
    expect_violation(strict ? "lies in no window" : "leaves its window");
    ncclCommWindowDeregister(comm, window);
    ncclMemFree(block);
    ncclCommAbort(comm);
  }
}

}  // namespace
}  // namespace zero::comm
