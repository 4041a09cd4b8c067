// Ranks: 1 2 3 4

#include "zero/comm/mpi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "src/comm/mpi_world.hpp"
#include "tests/support/pmpi_count.hpp"
#include "zero/base/error.hpp"

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

TEST(Mpi, RefusesStagingWithoutRoomForEveryPeer) {
  EXPECT_THROW(make_mpi({.staging_bytes = 100}), Error);
  EXPECT_EQ(make_mpi({.staging_bytes = 6 * 64})->backend(), "mpi");
}

}  // namespace
}  // namespace zero::comm
