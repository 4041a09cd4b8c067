// Ranks: 1 2

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <vector>

#include "tests/support/refusal.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/copy.hpp"
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
  if (!has_nccl() || !drives_devices() || processes() > 1) return nullptr;
  use_device(0);
  return make_nccl({.staging_bytes = 4 * 100});
}

TEST(Nccl, IsRefusedOnABuildWithoutItAndWhereRanksShareADevice) {
  if (has_nccl()) {
    if (!drives_devices() || processes() == 1 || usable_devices().size() > 1 ||
        std::getenv("NCCL_HOSTID")) {
      GTEST_SKIP() << "no device is shared, or ranks say that they are on several hosts";
    }
    use_device(0);
  }
  EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [] { make_nccl({}); }),
              HasSubstr(has_nccl() ? "ranks 0 and 1 drive one GPU" : "ZERO_DEVICE=cuda"));
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

TEST(Nccl, GathersAndSumsInMemoryThatPeersCouldReach) {
  const auto comm = alone_on_a_device();
  if (!comm) GTEST_SKIP() << "one rank on a device of its own";
  constexpr int64_t kNumel = 1000;
  const Arena arena = comm->take_arena(3 * kNumel * int64_t(sizeof(float)));
  EXPECT_EQ(arena.bytes(), 3 * kNumel * int64_t(sizeof(float)));
  EXPECT_FALSE(arena.on_host());
  std::vector<float> held(3 * kNumel, -1.0f);
  Stream stream(1);
  copy_bytes(stream, std::as_bytes(std::span(arena.data(), size_t(arena.bytes()))),
             reinterpret_cast<std::byte*>(held.data()));
  stream.wait();
  EXPECT_THAT(held, ::testing::Each(0.0f)) << "an arena begins with zeros";
  const auto window = comm->open_window(arena);
  for (int64_t i = 0; i < kNumel; ++i) held[size_t(i)] = float(i);
  copy_bytes(stream, std::as_bytes(std::span(held)), arena.data());
  const auto at = [&](int64_t i) { return reinterpret_cast<float*>(arena.data()) + i * kNumel; };
  constexpr Piece kWhole{.shard_numel = kNumel, .begin = 0, .numel = kNumel};
  comm->all_gather(stream, Dtype::f32, kWhole, at(0), at(1));
  comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, kWhole, at(1), at(2));
  copy_bytes(stream, std::as_bytes(std::span(arena.data(), size_t(arena.bytes()))),
             reinterpret_cast<std::byte*>(held.data()));
  stream.wait();
  for (int64_t i = 0; i < 3 * kNumel; ++i) ASSERT_EQ(held[size_t(i)], float(i % kNumel)) << i;
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
