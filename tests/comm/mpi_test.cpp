// Ranks: 1 2 3 4

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/pmpi_count.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/comm/mpi_world.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

using testing::mpi_sent;
using testing::reset_mpi_sent;

constexpr Piece kPiece{.shard_numel = 5000, .begin = 11, .numel = 4321};

TEST(Mpi, SendsExactlyWhatItSaysItSends) {
  const auto comm = make_mpi({.staging_bytes = 4096});
  Stream stream(1);
  std::vector<bf16> full(size_t(comm->ranks() * kPiece.shard_numel), bf16(1.0f));
  std::vector<float> shard(size_t(kPiece.shard_numel));

  reset_mpi_sent();
  comm->reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32}, kPiece, full.data(),
                       shard.data());
  EXPECT_EQ(mpi_sent().elements, 4321 * (comm->ranks() - 1));
  EXPECT_EQ(mpi_sent().elements, comm->traffic().reduce_scatter.elements_sent);
  EXPECT_EQ(mpi_sent().bytes, comm->traffic().reduce_scatter.bytes_sent);
  EXPECT_GE(mpi_sent().messages, 3 * (comm->ranks() - 1)) << "it streams in chunks";

  reset_mpi_sent();
  comm->all_gather(stream, Dtype::bf16, kPiece, full.data() + comm->rank() * kPiece.shard_numel,
                   full.data());
  EXPECT_EQ(mpi_sent().elements, 4321 * (comm->ranks() - 1));
  EXPECT_EQ(mpi_sent().elements, comm->traffic().all_gather.elements_sent);
  EXPECT_EQ(mpi_sent().bytes, comm->traffic().all_gather.bytes_sent);
}

/// Sums by groups of two ranks, whatever travels in how many chunks, in place or not.
template <class T, class Out>
void reduce_by_pairs(int64_t staging_bytes, Communicator::Store store, bool in_place) {
  const auto comm = make_mpi({.staging_bytes = staging_bytes, .group = 2});
  std::vector<T> full;
  for (int64_t i = 0; i < comm->ranks() * kPiece.shard_numel; ++i) {
    full.push_back(T(testing::contribution(comm->rank(), i)));
  }
  std::vector<Out> apart(size_t(kPiece.shard_numel), Out(0.5f));
  Out* shard = apart.data();
  if constexpr (std::is_same_v<T, Out>) {
    if (in_place) shard = full.data() + comm->rank() * kPiece.shard_numel;
  }
  std::vector<float> sums(size_t(kernels::group_sums(comm->ranks(), 2) * kPiece.numel));
  Stream stream(1);
  comm->reduce_scatter(
      stream,
      {.in = dtype_of<T>(), .out = dtype_of<Out>(), .store = store, .group_sums = sums.data()},
      kPiece, full.data(), shard);
  for (int64_t i = kPiece.begin; i < kPiece.begin + kPiece.numel; ++i) {
    const float sum =
        testing::balanced_contributions<T>(comm->ranks(), comm->rank() * kPiece.shard_numel + i);
    const float expected = store == Communicator::Store::add ? 0.5f + sum : float(Out(sum));
    ASSERT_EQ(float(shard[i]), expected) << "element " << i << " of rank " << comm->rank();
  }
  EXPECT_EQ(comm->traffic().reduce_scatter.elements_sent, kPiece.numel * (comm->ranks() - 1));
}

TEST(Mpi, SumsByGroupsOfRanksToTheBitsOfTheBalancedTree) {
  using Store = Communicator::Store;
  for (const int64_t staging : {4096, 1 << 20}) {
    reduce_by_pairs<float, float>(staging, Store::write, false);
    reduce_by_pairs<float, float>(staging, Store::write, true);
    reduce_by_pairs<bf16, float>(staging, Store::add, false);
    reduce_by_pairs<bf16, bf16>(staging, Store::write, true);
    reduce_by_pairs<f16, f16>(staging, Store::write, false);
  }
}

TEST(Mpi, RefusesToSumByGroupsWithoutRoomForTheirSums) {
  const auto comm = make_mpi({.group = 2});
  if (comm->ranks() <= 2) return;
  Stream stream(1);
  std::vector<float> full(size_t(comm->ranks())), shard(1);
  EXPECT_THROW(
      comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32},
                           {.shard_numel = 1, .begin = 0, .numel = 1}, full.data(), shard.data()),
      Error);
}

TEST(Mpi, WarnsInItsOwnWordsWhereNothingCanBeThrown) {
  ::testing::internal::CaptureStderr();
  warn_mpi(MPI_SUCCESS, "doing nothing");
  warn_mpi(MPI_ERR_COMM, "freeing it");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::StartsWith("zeroapp: warning: freeing it failed in MPI: "));
  EXPECT_THAT(said, ::testing::HasSubstr("MPI_ERR_COMM"));
}

TEST(Mpi, NamesTheVerbAndMpisOwnWordsWhenASendFails) {
  const auto comm = make_mpi({});
  if (comm->ranks() == 1) return;
  Stream stream(1);
  std::vector<float> full(size_t(comm->ranks() * 4)), shard(4);
  testing::fail_next_isend();
  try {
    comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32},
                         {.shard_numel = 4, .begin = 0, .numel = 4}, full.data(), shard.data());
    ADD_FAILURE() << "the send has failed";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInternal);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("reduce_scatter failed in MPI"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("MPI_ERR_TRUNCATE"));
  }
}

TEST(Mpi, CountsTheRanksOfItsNode) {
  const World all;
  const World node{World::OfNode{}};
  EXPECT_EQ(node.ranks(), all.ranks()) << "tests start on one node";
  EXPECT_EQ(node.rank(), all.rank());
}

TEST(Mpi, RefusesStagingWithoutRoomForEveryPeer) {
  EXPECT_THROW(make_mpi({.staging_bytes = 100}), Error);
  EXPECT_EQ(make_mpi({.staging_bytes = 6 * 64})->backend(), "mpi");
}

}  // namespace
}  // namespace zero::comm
