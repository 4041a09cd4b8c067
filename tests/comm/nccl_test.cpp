// Ranks: 1 2

#include "zero/comm/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "tests/support/refusal.hpp"
#include "zero/device/device.hpp"

namespace zero::comm {
namespace {

using ::testing::HasSubstr;

int processes() {
  int count = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

/// Alone on the first device; null, and a skipped test, where there is none or others share it.
std::unique_ptr<Communicator> alone_on_a_device() {
  if (!drives_devices() || processes() > 1) return nullptr;
  use_device(0);
  return make_nccl({.staging_bytes = 4 * 100});
}

TEST(Nccl, IsRefusedOnABuildForTheHostAndWhereRanksShareADevice) {
  if (drives_devices()) {
    if (processes() == 1 || usable_devices().size() > 1) GTEST_SKIP() << "no device is shared";
    use_device(0);
  }
  EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [] { make_nccl({}); }),
              HasSubstr(drives_devices() ? "ranks 0 and 1 drive one GPU" : "ZERO_DEVICE=cuda"));
}

TEST(Nccl, GathersAndSumsOverOneRankInPiecesOfTheStaging) {
  const auto comm = alone_on_a_device();
  if (!comm) GTEST_SKIP() << "one rank on a device of its own";
  EXPECT_EQ(comm->backend(), "nccl");
  constexpr Piece kPart{.shard_numel = 1000, .begin = 7, .numel = 950};
  Stream stream(1);
  std::vector<float> from(1000), gathered(1000, -1.0f), sums(1000, -1.0f);
  for (size_t i = 0; i < from.size(); ++i) from[i] = float(i);
  comm->all_gather(stream, Dtype::f32, kPart, from.data(), gathered.data());
  comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, kPart, from.data(),
                       sums.data());
  stream.wait();
  for (size_t i = 0; i < from.size(); ++i) {
    const float expected = i >= 7 && i < 957 ? float(i) : -1.0f;
    ASSERT_EQ(gathered[i], expected) << i;
    ASSERT_EQ(sums[i], expected) << i;
  }
}

TEST(Nccl, LeavesWordsAndBytesOfOneRankAsTheyAre) {
  const auto comm = alone_on_a_device();
  if (!comm) GTEST_SKIP() << "one rank on a device of its own";
  Stream stream(1);
  std::vector<int64_t> words = {1, -2, int64_t(1) << 40};
  std::vector<std::byte> bytes(33, std::byte(5));
  comm->all_reduce(stream, words);
  comm->broadcast(stream, bytes, 0);
  stream.wait();
  comm->barrier();
  EXPECT_EQ(words, (std::vector<int64_t>{1, -2, int64_t(1) << 40}));
  EXPECT_EQ(bytes, std::vector<std::byte>(33, std::byte(5)));
  EXPECT_EQ(comm->traffic().all_reduce.elements_sent, 0) << "nothing leaves the rank";
}

}  // namespace
}  // namespace zero::comm
