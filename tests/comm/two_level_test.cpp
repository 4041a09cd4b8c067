// Ranks: 1 2 4

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/side_thread.hpp"
#include "tests/support/balanced_tree.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/pmpi_count.hpp"
#include "tests/support/rank_groups.hpp"
#include "zero/base/error.hpp"
#include "zero/comm/backends.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

using testing::as_every_rank;
using ::testing::HasSubstr;
using testing::Members;
using testing::mpi_sent;
using testing::RankGroup;
using testing::reset_mpi_sent;

constexpr Piece kPiece{.shard_numel = 3000, .begin = 11, .numel = 2801};

template <class T, class Out>
void reduce_and_check(Communicator& comm, const Piece& piece) {
  std::vector<T> full;
  for (int64_t i = 0; i < comm.ranks() * piece.shard_numel; ++i) {
    full.push_back(T(testing::contribution(comm.rank(), i)));
  }
  std::vector<Out> shard(size_t(piece.shard_numel), Out(0.5f));
  std::vector<float> sums(size_t(kernels::group_sums(comm.ranks()) * piece.numel));
  Stream stream(1);
  comm.reduce_scatter(stream,
                      {.in = dtype_of<T>(), .out = dtype_of<Out>(), .group_sums = sums.data()},
                      piece, full.data(), shard.data());
  for (int64_t i = piece.begin; i < piece.begin + piece.numel; ++i) {
    const float sum =
        testing::balanced_contributions<T>(comm.ranks(), comm.rank() * piece.shard_numel + i);
    ASSERT_EQ(std::bit_cast<uint32_t>(float(shard[size_t(i)])),
              std::bit_cast<uint32_t>(float(Out(sum))))
        << "element " << i << " of rank " << comm.rank();
  }
}

TEST(TwoLevel, SumsToTheLastBitOnNodesOfEverySize) {
  if (testing::processes() > 1) GTEST_SKIP() << "ranks are threads";
  const Piece few{.shard_numel = 70, .begin = 2, .numel = 67};
  for (const auto& [ranks, node_ranks] : {std::pair(32, 8), {12, 4}, {10, 2}, {16, 16}, {5, 1}}) {
    as_every_rank({"thread", ranks, 512, node_ranks}, 1, [&](Members& members) {
      reduce_and_check<float, float>(*members[0], few);
      reduce_and_check<bf16, bf16>(*members[0], few);
      reduce_and_check<f16, float>(*members[0], few);
    });
  }
}

TEST(TwoLevel, AddsMoreRanksThanAPassOnANodeOrOverNodes) {
  if (testing::processes() > 1) GTEST_SKIP() << "ranks are threads";
  const Piece few{.shard_numel = 6, .begin = 1, .numel = 5};
  for (const auto& [ranks, node_ranks] : {std::pair(128, 128), {66, 1}}) {
    as_every_rank({"thread", ranks, 1024, node_ranks}, 1,
                  [&](Members& members) { reduce_and_check<bf16, float>(*members[0], few); });
  }
}

/// Two levels over nodes of two processes.
std::unique_ptr<Communicator> pairs(int64_t staging_bytes) {
  return testing::join_levels({"mpi", 0, staging_bytes, 2});
}

TEST(TwoLevel, SendsToOtherNodesExactlyWhatItSays) {
  if (testing::processes() != 4) GTEST_SKIP() << "two nodes of two ranks";
  const auto comm = pairs(4096);
  EXPECT_EQ(comm->backend(), "mpi between nodes, shm within");
  EXPECT_EQ(comm->border().node_ranks, 2);
  std::vector<bf16> full(size_t(comm->ranks() * kPiece.shard_numel), bf16(1.0f));
  std::vector<float> shard(size_t(kPiece.shard_numel));
  Stream stream(1);
  reset_mpi_sent();
  comm->all_gather(stream, Dtype::bf16, kPiece, full.data() + comm->rank() * kPiece.shard_numel,
                   full.data());
  EXPECT_EQ(mpi_sent().bytes, 2801 * 2) << "a shard, to one other node";
  EXPECT_EQ(comm->traffic().all_gather.node_bytes_sent, 2801 * 2);
  EXPECT_EQ(comm->traffic().all_gather.bytes_sent, 2801 * 2 * 3) << "for three receivers";
  reset_mpi_sent();
  comm->reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32}, kPiece, full.data(),
                       shard.data());
  EXPECT_EQ(mpi_sent().bytes, 2801 * 4) << "a sum of the node in fp32";
  EXPECT_EQ(comm->traffic().reduce_scatter.node_bytes_sent, 2801 * 4);
  EXPECT_GE(mpi_sent().messages, 10) << "it streams in chunks";
  std::vector<int64_t> words(10);
  comm->all_reduce(stream, words);
  comm->broadcast(stream, std::as_writable_bytes(std::span(words)), 3);
  EXPECT_EQ(comm->traffic().all_reduce.node_bytes_sent, comm->rank() % 2 == 0 ? 80 : 0);
  EXPECT_EQ(comm->traffic().broadcast.node_bytes_sent, comm->rank() == 3 ? 80 : 0);
}

TEST(TwoLevel, AllocatesNothingInAVerb) {
  if (testing::processes() == 1) GTEST_SKIP() << "ranks are processes";
  const auto comm = pairs(4096);
  std::vector<bf16> full(size_t(comm->ranks() * kPiece.shard_numel), bf16(1.0f));
  std::vector<float> shard(size_t(kPiece.shard_numel));
  std::vector<int64_t> words(10);
  Stream stream(1);
  testing::counting = true;
  comm->all_gather(stream, Dtype::bf16, kPiece, full.data() + comm->rank() * kPiece.shard_numel,
                   full.data());
  comm->reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32}, kPiece, full.data(),
                       shard.data());
  comm->all_reduce(stream, words);
  comm->broadcast(stream, std::as_writable_bytes(std::span(words)), 1);
  comm->barrier();
  testing::counting = false;
  EXPECT_EQ(testing::allocations, 0);
}

TEST(TwoLevel, SendsNothingToOtherNodesWhereThereIsOne) {
  if (testing::processes() != 2) GTEST_SKIP() << "one node of two ranks";
  const auto comm = pairs(4096);
  reset_mpi_sent();
  reduce_and_check<bf16, float>(*comm, kPiece);
  EXPECT_EQ(mpi_sent().bytes, 0);
  EXPECT_EQ(comm->traffic().reduce_scatter.node_bytes_sent, 0);
}

TEST(TwoLevel, EndsWithTheErrorOfTheLevelThatFails) {
  if (testing::processes() != 4) GTEST_SKIP() << "two nodes of two ranks";
  const auto comm = pairs(4096);
  std::vector<float> full(size_t(comm->ranks() * 2000)), shard(2000);
  Stream stream(1);
  testing::fail_next_isend();
  try {
    comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32},
                         {.shard_numel = 2000, .begin = 0, .numel = 2000}, full.data(),
                         shard.data());
    ADD_FAILURE() << "a send between nodes has failed";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("reduce_scatter failed in MPI"));
  }
}

/// Stands for one rank. Pauses in each gather and sum, and throws at the end of number `failing`.
class FailsLate final : public Communicator {
 public:
  explicit FailsLate(int failing, std::chrono::milliseconds pause = {})
      : left_(failing), pause_(pause) {}
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  std::string_view backend() const override { return "failing"; }
  void all_gather(Stream&, Dtype, const Piece&, const void*, void*) override { work(); }
  void reduce_scatter(Stream&, const Reduction&, const Piece&, const void*, void*) override {
    work();
  }
  void all_reduce(Stream&, std::span<int64_t>) override {}
  void broadcast(Stream&, std::span<std::byte>, int) override {}
  void barrier() override {}
  bool works() const { return works_; }

 private:
  void work() {
    works_ = true;
    std::this_thread::sleep_for(pause_);
    works_ = false;
    if (--left_ == 0) refuse(Exit::kHang, "a link is lost");
  }

  int left_;
  std::chrono::milliseconds pause_;
  std::atomic<bool> works_ = false;
};

TEST(TwoLevel, EndsWithTheErrorOfAnyChunk) {
  if (testing::processes() > 1) GTEST_SKIP() << "one rank";
  const Piece two_chunks{.shard_numel = 32, .begin = 0, .numel = 32};
  for (const int failing : {1, 2}) {
    const auto comm =
        make_two_level(make_self(), std::make_unique<FailsLate>(failing), {.staging_bytes = 128});
    std::vector<float> full(32), shard(32);
    Stream stream(1);
    EXPECT_THROW(comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, two_chunks,
                                      full.data(), shard.data()),
                 Error)
        << "chunk " << failing;
  }
}

TEST(TwoLevel, LeavesNoWorkBehindAnError) {
  if (testing::processes() > 1) GTEST_SKIP() << "one rank";
  const Piece chunks{.shard_numel = 512, .begin = 0, .numel = 512};
  std::vector<float> full(512), shard(512);
  for (const bool gathers : {false, true}) {
    auto slow = std::make_unique<FailsLate>(0, std::chrono::milliseconds(50));
    const FailsLate& between = *slow;
    const auto comm =
        make_two_level(std::make_unique<FailsLate>(2), std::move(slow), {.staging_bytes = 1024});
    Stream stream(1);
    const auto call = [&] {
      if (gathers) return comm->all_gather(stream, Dtype::f32, chunks, shard.data(), full.data());
      comm->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, chunks, full.data(),
                           shard.data());
    };
    EXPECT_THROW(call(), Error);
    EXPECT_FALSE(between.works()) << (gathers ? "gathers" : "sums");
  }
}

TEST(TwoLevel, RefusesNodesAndStagingThatCannotWork) {
  if (testing::processes() > 1) GTEST_SKIP() << "ranks are threads";
  ThreadGroup three(3);
  EXPECT_THROW(make_two_level(three.join(0, 0), make_self()), Error);
  EXPECT_THROW(make_two_level(make_self(), three.join(0, 0), {.staging_bytes = 127}), Error);
  EXPECT_EQ(make_two_level(make_self(), three.join(0, 0), {.staging_bytes = 128})->ranks(), 3);
}

TEST(Nodes, AreOneWhereRanksShareIt) {
  const Nodes nodes = find_nodes();
  EXPECT_EQ(nodes.count(), 1);
  EXPECT_EQ(nodes.ranks(), std::vector{testing::processes()});
  EXPECT_EQ(make_of_hosts(nodes)->backend(), "shm");
}

TEST(Nodes, AreServedByTwoLevelsOrItIsSaidWhyNot) {
  EXPECT_EQ(why_one_level({{0, 0, 0}}), "") << "one node";
  EXPECT_EQ(why_one_level({{0, 0, 1, 1, 2, 2}}), "");
  EXPECT_EQ(why_one_level({{0, 0, 0, 0, 1, 1, 1, 1}}), "");
  EXPECT_THAT(why_one_level({{0, 0, 0, 1, 1}}), HasSubstr("nodes have 2 to 3 ranks"));
  EXPECT_THAT(why_one_level({{0, 1, 2}}), HasSubstr("one rank"));
  EXPECT_THAT(why_one_level({{0, 0, 0, 1, 1, 1}}), HasSubstr("a node has 3 ranks"));
  EXPECT_THAT(why_one_level({{0, 1, 0, 1}}), HasSubstr("no neighbours"));
}

// Ranks 0 and 2 are on two nodes, 1 and 3 on the same two.
TEST(Nodes, OfAPartAreNumberedByItsOwnRanks) {
  const std::vector<int> part_of = {0, 1, 0, 1, 2, 2};
  const Nodes nodes{{0, 0, 1, 1, 2, 2}};
  EXPECT_EQ(nodes_of_part(nodes, part_of, 1).of_rank, (std::vector{0, 1}));
  EXPECT_EQ(nodes_of_part(nodes, part_of, 2).of_rank, (std::vector{0, 0}));
  EXPECT_EQ(why_one_level(nodes_of_part(nodes, part_of, 2)), "") << "one node";
  EXPECT_THAT(why_one_level(nodes_of_part(nodes, part_of, 0)), HasSubstr("one rank"));
}

TEST(SideThread, RunsWorkAndThrowsWhatItHasThrown) {
  SideThread side;
  int runs = 0;
  const auto work = [&] {
    if (++runs == 2) refuse(Exit::kHang, "the second run");
  };
  side.start(work);
  side.wait();
  side.start(work);
  EXPECT_THROW(side.wait(), Error);
  side.wait();
  runs = 1;
  side.start(work);
  side.rest();
  side.wait();
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace zero::comm
