// Ranks: 1 2 3 4

#include "zero/comm/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/rank_groups.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

using testing::as_every_rank;
using testing::balanced_contributions;
using testing::contribution;
using testing::Members;
using testing::RankGroup;
using Store = Communicator::Store;

class CommunicatorTest : public ::testing::TestWithParam<RankGroup> {
 protected:
  void SetUp() override {
    if (!GetParam().fits()) GTEST_SKIP() << "these processes are no ranks of this back end";
  }

  /// True if the ranks tell each other what they call; NCCL would wait for what never comes.
  static bool compares_calls() { return GetParam().backend != "nccl"; }

  /// Calls body(communicator, stream) as every rank.
  template <class Body>
  void on_every_rank(const Body& body) {
    as_every_rank(GetParam(), 1, [&](Members& members) {
      Stream stream(1);
      body(*members[0], stream);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(
    Backends, CommunicatorTest,
    ::testing::Values(RankGroup{"self"}, RankGroup{"thread", 1}, RankGroup{"thread", 2},
                      RankGroup{"thread", 3}, RankGroup{"thread", 4}, RankGroup{"shm"},
                      RankGroup{"shm", 0, 8 << 20}, RankGroup{"mpi"}, RankGroup{"mpi", 0, 8 << 20},
                      RankGroup{"nccl"}, RankGroup{"nccl", 0, 8 << 20},
                      RankGroup{"thread", 4, 1024, 2}, RankGroup{"thread", 6, 1024, 2},
                      RankGroup{"thread", 8, 8 << 20, 4}, RankGroup{"thread", 12, 4096, 4},
                      RankGroup{"mpi", 0, 1024, 1}, RankGroup{"mpi", 0, 1024, 2},
                      RankGroup{"mpi", 0, 8 << 20, 2}),
    ::testing::PrintToStringParamName());

constexpr Piece kPiece{.shard_numel = 1501, .begin = 3, .numel = 1397};

bool inside(const Piece& piece, int64_t i) {
  return i >= piece.begin && i < piece.begin + piece.numel;
}

template <class T>
T element(int rank, int64_t i) {
  return T(float(rank * 32 + i % 32));
}

template <class T>
void gather_and_check(Communicator& comm, Stream& stream, bool in_place) {
  std::vector<T> full(size_t(comm.ranks() * kPiece.shard_numel), T(-1.0f));
  std::vector<T> apart(size_t(kPiece.shard_numel));
  T* shard = in_place ? full.data() + comm.rank() * kPiece.shard_numel : apart.data();
  for (int64_t i = 0; i < kPiece.shard_numel; ++i) {
    if (!in_place || inside(kPiece, i)) shard[i] = element<T>(comm.rank(), i);
  }
  comm.all_gather(stream, dtype_of<T>(), kPiece, shard, full.data());
  stream.wait();
  for (int64_t j = 0; j < int64_t(full.size()); ++j) {
    const int rank = int(j / kPiece.shard_numel);
    const int64_t i = j % kPiece.shard_numel;
    const float expected = inside(kPiece, i) ? float(element<T>(rank, i)) : -1.0f;
    ASSERT_EQ(float(full[size_t(j)]), expected) << "element " << i << " of shard " << rank;
  }
}

TEST_P(CommunicatorTest, GathersEveryRanksPieceIntoItsPlace) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    gather_and_check<float>(comm, stream, false);
    gather_and_check<bf16>(comm, stream, false);
    gather_and_check<f16>(comm, stream, false);
  });
}

TEST_P(CommunicatorTest, GathersFromAShardInsideTheFullArray) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    gather_and_check<float>(comm, stream, true);
    gather_and_check<bf16>(comm, stream, true);
  });
}

/// Room for sums of groups, where so many ranks add in groups.
std::vector<float> room_for_groups(const Communicator& comm, int64_t numel) {
  return std::vector<float>(size_t(kernels::group_sums(comm.ranks()) * numel));
}

template <class T, class Out>
void reduce_and_check(Communicator& comm, Stream& stream, Store store) {
  std::vector<T> full;
  for (int64_t i = 0; i < comm.ranks() * kPiece.shard_numel; ++i) {
    full.push_back(T(contribution(comm.rank(), i)));
  }
  std::vector<Out> shard(size_t(kPiece.shard_numel), Out(0.5f));
  std::vector<float> sums = room_for_groups(comm, kPiece.numel);
  comm.reduce_scatter(
      stream,
      {.in = dtype_of<T>(), .out = dtype_of<Out>(), .store = store, .group_sums = sums.data()},
      kPiece, full.data(), shard.data());
  stream.wait();
  for (int64_t i = 0; i < kPiece.shard_numel; ++i) {
    const float sum = balanced_contributions<T>(comm.ranks(), comm.rank() * kPiece.shard_numel + i);
    const float stored = store == Store::add ? 0.5f + sum : float(Out(sum));
    const float expected = inside(kPiece, i) ? stored : 0.5f;
    ASSERT_EQ(std::bit_cast<uint32_t>(float(shard[size_t(i)])), std::bit_cast<uint32_t>(expected))
        << name_of(dtype_of<T>()) << " into " << name_of(dtype_of<Out>()) << ", element " << i;
  }
}

TEST_P(CommunicatorTest, SumsAlongTheBalancedTreeToTheLastBit) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    reduce_and_check<float, float>(comm, stream, Store::write);
    reduce_and_check<bf16, float>(comm, stream, Store::write);
    reduce_and_check<f16, float>(comm, stream, Store::write);
    reduce_and_check<bf16, bf16>(comm, stream, Store::write);
    reduce_and_check<f16, f16>(comm, stream, Store::write);
  });
}

TEST_P(CommunicatorTest, AddsTheSumToWhatTheShardHolds) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    reduce_and_check<float, float>(comm, stream, Store::add);
    reduce_and_check<bf16, float>(comm, stream, Store::add);
    reduce_and_check<f16, float>(comm, stream, Store::add);
  });
}

TEST_P(CommunicatorTest, PassesInfinityAndNanOn) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    const float inf = std::numeric_limits<float>::infinity();
    const bool last = comm.rank() == comm.ranks() - 1;
    // Per shard: one infinity, one NaN, one ordinary sum.
    std::vector<bf16> full;
    for (int r = 0; r < comm.ranks(); ++r) {
      for (float v : {last ? inf : 1.0f, last ? std::nanf("") : 1.0f, 1.0f}) full.emplace_back(v);
    }
    std::vector<float> shard(3), sums = room_for_groups(comm, 3);
    comm.reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32, .group_sums = sums.data()},
                        {.shard_numel = 3, .begin = 0, .numel = 3}, full.data(), shard.data());
    stream.wait();
    EXPECT_EQ(shard[0], inf);
    EXPECT_TRUE(std::isnan(shard[1]));
    EXPECT_EQ(shard[2], float(comm.ranks()));
  });
}

TEST_P(CommunicatorTest, AddsWordsExactly) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    const int64_t ranks = comm.ranks(), rank_sum = ranks * (ranks + 1) / 2;
    for (const size_t numel : {size_t(1), size_t(2), size_t(2200)}) {
      std::vector<int64_t> words(numel);
      for (size_t i = 0; i < numel; ++i) {
        words[i] = (comm.rank() + 1) * ((int64_t(1) << 50) - int64_t(i));
      }
      comm.all_reduce(stream, words);
      stream.wait();
      for (size_t i = 0; i < numel; ++i) {
        ASSERT_EQ(words[i], rank_sum * ((int64_t(1) << 50) - int64_t(i))) << i << " of " << numel;
      }
    }
  });
}

TEST_P(CommunicatorTest, CopiesTheRootsBytesToAll) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    for (int root = 0; root < comm.ranks(); ++root) {
      std::vector<uint8_t> bytes(4099);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(comm.rank() * 64 + i % 61);
      comm.broadcast(stream, std::as_writable_bytes(std::span(bytes)), root);
      stream.wait();
      for (size_t i = 0; i < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], uint8_t(root * 64 + i % 61)) << i;
    }
  });
}

TEST_P(CommunicatorTest, WaitsForARankThatComesLate) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    using Clock = std::chrono::steady_clock;
    const auto delay = std::chrono::milliseconds(150);
    std::vector<int64_t> words = {1};
    comm.barrier();
    const auto begin = Clock::now();
    if (comm.rank() == 0) std::this_thread::sleep_for(delay);
    comm.barrier();
    // Leaving the first barrier may take a while; half the delay is proof enough.
    EXPECT_GE(Clock::now() - begin, delay / 2);
    if (comm.rank() == comm.ranks() - 1) std::this_thread::sleep_for(delay);
    comm.all_reduce(stream, words);
    stream.wait();
    EXPECT_EQ(words[0], comm.ranks());
  });
}

TEST_P(CommunicatorTest, LeavesBuffersFreeForReuseWhenTheStreamIsDone) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    const Piece piece{.shard_numel = 777, .begin = 0, .numel = 777};
    std::vector<bf16> full(size_t(comm.ranks() * 777)), gathered(full.size()), mine(777);
    std::vector<float> shard(777), sums = room_for_groups(comm, 777);
    for (int round = 0; round < 20; ++round) {
      std::fill(full.begin(), full.end(), bf16(float(round)));
      std::fill(mine.begin(), mine.end(), bf16(float(round)));
      comm.reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32, .group_sums = sums.data()},
                          piece, full.data(), shard.data());
      stream.wait();
      std::fill(full.begin(), full.end(), bf16(-100.0f));
      comm.all_gather(stream, Dtype::bf16, piece, mine.data(), gathered.data());
      stream.wait();
      std::fill(mine.begin(), mine.end(), bf16(-100.0f));
      for (const float sum : shard) ASSERT_EQ(sum, float(round * comm.ranks()));
      for (const bf16 value : gathered) ASSERT_EQ(float(value), float(round));
    }
  });
}

/// Sums on one channel again and again. Channels that need one order take turns, as lanes do.
void sum_on_channel(Communicator& comm, int channel, std::atomic<int>& turn) {
  Stream stream(1);
  adopt_threads(stream);
  const int64_t numel = 600 + channel;
  for (int round = 0; round < 25; ++round) {
    std::vector<float> full(size_t(comm.ranks() * numel), float(channel + round));
    std::vector<float> shard(static_cast<size_t>(numel)), sums = room_for_groups(comm, numel);
    while (comm.needs_one_order() && turn != 3 * round + channel) std::this_thread::yield();
    comm.reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32, .group_sums = sums.data()},
                        {.shard_numel = numel, .begin = 0, .numel = numel}, full.data(),
                        shard.data());
    ++turn;
    stream.wait();
    for (const float sum : shard) ASSERT_EQ(sum, float(comm.ranks() * (channel + round)));
  }
}

TEST_P(CommunicatorTest, KeepsChannelsOfDifferentThreadsApart) {
  as_every_rank(GetParam(), 3, [](Members& members) {
    std::atomic<int> turn{0};
    std::vector<std::thread> lanes;
    for (int c = 0; c < 3; ++c) {
      lanes.emplace_back([&, c] { sum_on_channel(*members[size_t(c)], c, turn); });
    }
    for (auto& thread : lanes) thread.join();
  });
}

TEST_P(CommunicatorTest, CountsWhatLeavesTheRankOnceForEveryReceiver) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    const int64_t peers = comm.ranks() - 1;
    std::vector<bf16> full(size_t(comm.ranks() * kPiece.shard_numel), bf16(1.0f));
    std::vector<float> shard(size_t(kPiece.shard_numel));
    std::vector<float> sums = room_for_groups(comm, kPiece.numel);
    std::vector<int64_t> words(10);
    for (int round = 0; round < 2; ++round) {
      comm.all_gather(stream, Dtype::bf16, kPiece, full.data() + comm.rank() * kPiece.shard_numel,
                      full.data());
      comm.reduce_scatter(stream, {.in = Dtype::bf16, .out = Dtype::f32, .group_sums = sums.data()},
                          kPiece, full.data(), shard.data());
    }
    comm.all_reduce(stream, words);
    comm.broadcast(stream, std::as_writable_bytes(std::span(words)), 0);
    stream.wait();
    const TrafficTable& traffic = comm.traffic();
    for (const Traffic& t : {traffic.all_gather, traffic.reduce_scatter}) {
      EXPECT_EQ(t.calls, 2);
      EXPECT_EQ(t.elements_sent, 2 * 1397 * peers);
      EXPECT_EQ(t.bytes_sent, 2 * 2 * 1397 * peers);
    }
    EXPECT_EQ(traffic.all_reduce.calls, 1);
    EXPECT_EQ(traffic.all_reduce.bytes_sent, 80 * peers);
    EXPECT_EQ(traffic.broadcast.calls, 1);
    EXPECT_EQ(traffic.broadcast.bytes_sent, comm.rank() == 0 ? 80 * peers : 0);
  });
}

/// What `verb` throws, and the text of it.
template <class Work>
std::string error_of(Exit exit, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(int(error.exit()), int(exit)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST_P(CommunicatorTest, TellsEveryRankWhichTwoDisagreeOnAPiece) {
  if (!compares_calls()) GTEST_SKIP() << "ranks do not tell each other what they call";
  on_every_rank([](Communicator& comm, Stream& stream) {
    if (comm.ranks() == 1) return;
    const bool last = comm.rank() == comm.ranks() - 1;
    std::vector<float> full(size_t(comm.ranks() * 9000)), shard(9000);
    const Piece piece{.shard_numel = 9000, .begin = 0, .numel = last ? 8000 : 10};
    const std::string error = error_of(Exit::kRanksDisagree, [&] {
      comm.reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, piece, full.data(),
                          shard.data());
    });
    EXPECT_THAT(error, ::testing::HasSubstr("rank 0 calls reduce_scatter of fp32 into fp32, "
                                            "elements [0, 10) of shards of 9000"));
    EXPECT_THAT(error, ::testing::HasSubstr(text("rank ", comm.ranks() - 1, " calls")));
    EXPECT_THAT(error, ::testing::HasSubstr("[0, 8000)"));
  });
}

TEST_P(CommunicatorTest, TellsEveryRankWhichTwoDisagreeOnAVerb) {
  if (!compares_calls()) GTEST_SKIP() << "ranks do not tell each other what they call";
  on_every_rank([](Communicator& comm, Stream& stream) {
    if (comm.ranks() == 1) return;
    std::vector<int64_t> words(3);
    const std::string error = error_of(Exit::kRanksDisagree, [&] {
      if (comm.rank() == 1) {
        comm.barrier();
      } else {
        comm.all_reduce(stream, words);
      }
    });
    EXPECT_THAT(error, ::testing::HasSubstr("rank 0 calls all_reduce of 3 words while rank 1 calls "
                                            "barrier"));
  });
}

TEST_P(CommunicatorTest, RefusesWhatCannotBeMovedAndGoesOn) {
  on_every_rank([](Communicator& comm, Stream& stream) {
    std::vector<bf16> full(size_t(comm.ranks() * 8)), shard(8);
    std::vector<float> sums = room_for_groups(comm, 8);
    const auto gather = [&](int64_t begin, int64_t numel) {
      comm.all_gather(stream, Dtype::bf16, {.shard_numel = 8, .begin = begin, .numel = numel},
                      shard.data(), full.data());
    };
    const auto reduce = [&](Dtype in, Dtype out, Store store) {
      comm.reduce_scatter(stream, {.in = in, .out = out, .store = store, .group_sums = sums.data()},
                          {.shard_numel = 8, .begin = 0, .numel = 8}, full.data(), shard.data());
    };
    error_of(Exit::kInternal, [&] { gather(0, 0); });
    error_of(Exit::kInternal, [&] { gather(-1, 2); });
    error_of(Exit::kInternal, [&] { gather(1, 8); });
    error_of(Exit::kInternal, [&] { reduce(Dtype::f64, Dtype::f64, Store::write); });
    error_of(Exit::kInternal, [&] { reduce(Dtype::f32, Dtype::bf16, Store::write); });
    error_of(Exit::kInternal, [&] { reduce(Dtype::bf16, Dtype::bf16, Store::add); });
    error_of(Exit::kInternal, [&] { comm.all_reduce(stream, {}); });
    error_of(Exit::kInternal, [&] { comm.broadcast(stream, {}, 0); });
    gather(1, 7);
    reduce(Dtype::bf16, Dtype::bf16, Store::write);
    stream.wait();
    EXPECT_EQ(comm.traffic().all_gather.calls, 1);
    EXPECT_EQ(comm.traffic().reduce_scatter.calls, 1);
  });
}

}  // namespace
}  // namespace zero::comm
