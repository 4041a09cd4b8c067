// Ranks: 1

#include "tests/support/thread_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/rank_groups.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

TEST(ThreadGroup, WakesEveryWaitingRankWhenItIsAborted) {
  ThreadGroup group(3);
  std::atomic<int> woken{0};
  const auto wait_for_nobody = [&](int rank) {
    const auto comm = group.join(rank, 0);
    try {
      comm->barrier();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kInternal);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("aborted"));
      ++woken;
    }
  };
  std::thread first(wait_for_nobody, 0), second(wait_for_nobody, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  group.abort();
  first.join();
  second.join();
  EXPECT_EQ(woken, 2);
}

TEST(ThreadGroup, HoldsARankThatCallsAfterTheAbort) {
  ThreadGroup group(2);
  group.abort();
  EXPECT_THROW(group.join(0, 0)->barrier(), Error);
}

TEST(ThreadGroup, LetsOneChannelGoOnWhileAnotherWaits) {
  ThreadGroup group(2);
  std::atomic<bool> passed{false};
  std::thread waiting([&] {
    group.join(0, 0)->barrier();
    EXPECT_TRUE(passed) << "channel 0 was let go by channel 1";
  });
  std::thread peer([&] { group.join(0, 1)->barrier(); });
  group.join(1, 1)->barrier();
  peer.join();
  passed = true;
  group.join(1, 0)->barrier();
  waiting.join();
}

TEST(ThreadGroup, LetsRanksComeBackToAChannel) {
  ThreadGroup group(2);
  for (int round = 0; round < 3; ++round) {
    std::thread peer([&] { group.join(1, 0)->barrier(); });
    group.join(0, 0)->barrier();
    peer.join();
  }
}

constexpr Piece kFew{.shard_numel = 9, .begin = 2, .numel = 6};

template <class T, class Out>
void reduce_and_check(Communicator& comm, Stream& stream, Communicator::Store store) {
  std::vector<T> full;
  for (int64_t i = 0; i < comm.ranks() * kFew.shard_numel; ++i) {
    full.push_back(T(testing::contribution(comm.rank(), i)));
  }
  std::vector<Out> shard(size_t(kFew.shard_numel), Out(0.5f));
  std::vector<float> sums(size_t(kernels::group_sums(comm.ranks()) * kFew.numel));
  comm.reduce_scatter(
      stream,
      {.in = dtype_of<T>(), .out = dtype_of<Out>(), .store = store, .group_sums = sums.data()},
      kFew, full.data(), shard.data());
  for (int64_t i = 0; i < kFew.shard_numel; ++i) {
    const bool inside = i >= kFew.begin && i < kFew.begin + kFew.numel;
    const float sum =
        testing::balanced_contributions<T>(comm.ranks(), comm.rank() * kFew.shard_numel + i);
    const float stored = store == Communicator::Store::add ? 0.5f + sum : float(Out(sum));
    ASSERT_EQ(float(shard[size_t(i)]), inside ? stored : 0.5f)
        << comm.ranks() << " ranks, element " << i << " of rank " << comm.rank();
  }
}

TEST(ThreadGroup, OfManyRanksSumsToTheBitsOfTheBalancedTree) {
  for (const int ranks : {63, 64, 65, 96, 256, 1024}) {
    testing::as_threads(ranks, 1, [](testing::Members& members) {
      Stream stream(1);
      reduce_and_check<bf16, float>(*members[0], stream, Communicator::Store::write);
      reduce_and_check<bf16, float>(*members[0], stream, Communicator::Store::add);
      reduce_and_check<bf16, bf16>(*members[0], stream, Communicator::Store::write);
      if (members[0]->ranks() > 256) return;
      reduce_and_check<f16, f16>(*members[0], stream, Communicator::Store::write);
      reduce_and_check<float, float>(*members[0], stream, Communicator::Store::add);
    });
  }
}

TEST(ThreadGroup, OfManyRanksGathersAndAddsWords) {
  testing::as_threads(1024, 1, [](testing::Members& members) {
    Communicator& comm = *members[0];
    Stream stream(1);
    const int32_t own = 7 * comm.rank();
    std::vector<int32_t> all(1024);
    comm.all_gather(stream, Dtype::i32, {.shard_numel = 1, .begin = 0, .numel = 1}, &own,
                    all.data());
    for (int r = 0; r < 1024; ++r) ASSERT_EQ(all[size_t(r)], 7 * r);
    std::vector<int64_t> words = {1, comm.rank()};
    comm.all_reduce(stream, words);
    EXPECT_EQ(words[0], 1024);
    EXPECT_EQ(words[1], 1024 * 1023 / 2);
  });
}

TEST(ThreadGroup, RefusesRanksItDoesNotHave) {
  EXPECT_THROW(ThreadGroup(0), Error);
  EXPECT_THROW(ThreadGroup(kMostRanks + 1), Error);
  ThreadGroup group(2);
  EXPECT_THROW(group.join(2, 0), Error);
  EXPECT_THROW(group.join(-1, 0), Error);
  EXPECT_EQ(group.join(1, 0)->ranks(), 2);
}

}  // namespace
}  // namespace zero::comm
