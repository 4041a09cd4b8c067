// Ranks: 1 2 3 4

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "src/comm/shm_segment.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"

namespace zero::comm {
namespace {

constexpr int64_t kBytes = 4096;

/// A file that says whose it is.
File file_of(const World& world) {
  File file = make_memory_file(kBytes);
  const int32_t rank = world.rank();
  EXPECT_EQ(pwrite(file.fd(), &rank, sizeof(rank), 0), ssize_t(sizeof(rank)));
  return file;
}

void expect_every_peers_file(const World& world, const PeerFiles& files) {
  ASSERT_EQ(int(files.size()), world.ranks());
  for (int r = 0; r < world.ranks(); ++r) {
    if (r == world.rank()) continue;
    int32_t written = -1;
    ASSERT_TRUE(files[size_t(r)].valid()) << "file of rank " << r;
    EXPECT_EQ(pread(files[size_t(r)].fd(), &written, sizeof(written), 0), ssize_t(sizeof(written)));
    EXPECT_EQ(written, r);
  }
}

TEST(ShmPeers, OpenEachOthersFilesThroughProc) {
  const World world;
  const File mine = file_of(world);
  expect_every_peers_file(world, open_through_proc(world, mine));
}

TEST(ShmPeers, PassTheirFilesOverSocketsWhereProcIsClosed) {
  const World world;
  const File mine = file_of(world);
  expect_every_peers_file(world, pass_through_sockets(world, mine));
}

TEST(ShmPeers, TellEveryRankOfTheWayOutWhenOneCannotOpenItsPeers) {
  const World world;
  const File mine = file_of(world);
  // Rank 0 has no descriptor left: neither route can work for it.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, world.rank() == 0 ? &none : &limit), 0);
  std::string message;
  try {
    files_of_peers(world, mine);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kUsage);
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (world.ranks() == 1) {
    EXPECT_EQ(message, "") << "a rank alone needs nobody's file";
  } else {
    EXPECT_THAT(message, ::testing::HasSubstr("ZERO_COMM=mpi"));
  }
}

TEST(ShmMemoryFile, IsReservedAndKeepsItsSize) {
  const File file = make_memory_file(kBytes);
  EXPECT_EQ(ftruncate(file.fd(), 2 * kBytes), -1);
  EXPECT_EQ(ftruncate(file.fd(), 0), -1);
  void* base = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(base, MAP_FAILED);
  static_cast<char*>(base)[kBytes - 1] = 1;
  munmap(base, kBytes);
}

TEST(ShmMemoryFile, SaysHowMuchItAskedForWhenThereIsNone) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  std::string message;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  try {
    make_memory_file(kBytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kDoesNotFit);
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(message, ::testing::HasSubstr("4096 bytes"));
  EXPECT_THAT(message, ::testing::HasSubstr("memfd_create"));
}

TEST(ShmLayout, CutsTheStagingInSlotsThatFitIt) {
  for (const int64_t staging : {int64_t(384), int64_t(5000), int64_t(1) << 20, int64_t(8) << 20}) {
    const SlotLayout layout = layout_of(staging, 4);
    EXPECT_GE(layout.depth, 2) << staging;
    EXPECT_EQ(layout.depth & (layout.depth - 1), 0) << "slots wrap with a 32-bit count";
    EXPECT_GE(layout.slot_bytes, 3 * 64) << "64 bytes for each of 3 peers";
    EXPECT_LE(layout.depth * layout.slot_bytes, staging);
  }
  EXPECT_THROW(layout_of(383, 4), Error);
}

struct GivesUp {
  int calls = 0;
};

void give_up_at_the_second_call(void* context) {
  if (++static_cast<GivesUp*>(context)->calls == 2) refuse(Exit::kHang, "waited long enough");
}

TEST(Shm, CallsItsHookWhileItWaitsAndLeavesWhenThatThrows) {
  const World world;
  GivesUp state;
  const auto comm = make_shm({.hook = give_up_at_the_second_call, .hook_context = &state});
  if (world.ranks() > 1 && world.rank() == 0) {
    try {
      comm->barrier();
      ADD_FAILURE() << "nobody else has called it";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kHang);
    }
    EXPECT_EQ(state.calls, 2);
  }
  world.all(true);
}

TEST(Shm, RefusesStagingThatRanksDoNotAgreeOn) {
  const World world;
  const auto make = [&] {
    return make_shm({.staging_bytes = 4096 + (world.rank() == world.ranks() - 1 ? 64 : 0)});
  };
  if (world.ranks() == 1) {
    EXPECT_EQ(make()->backend(), "shm");
    return;
  }
  try {
    make();
    ADD_FAILURE() << "made it";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kRanksDisagree);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("4096 on rank 0 and 4160"));
  }
}

TEST(Shm, KnowsThatTheRanksOfThisTestShareANode) { EXPECT_TRUE(all_ranks_share_a_node()); }

}  // namespace
}  // namespace zero::comm
