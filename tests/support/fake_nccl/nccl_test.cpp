// Ranks: 1 2 3 4 6 7

// src/comm/gpu/nccl.cpp over the stand-in.

#include "tests/support/fake_nccl/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "tests/support/balanced_tree.hpp"
#include "tests/support/fake_nccl/fixture.hpp"
#include "tests/support/rank_groups.hpp"
#include "tests/support/refusal.hpp"
#include "zero/comm/backends.hpp"
#include "zero/device/gpu_runtime.hpp"
#include "zero/kernels/tree_sum.hpp"

namespace zero::comm {
namespace {

using ::testing::HasSubstr;
using testing::processes;

class NcclOverFake : public testing::FakeNccl {};

/// The words of a one-element all_reduce that does not work.
std::string refusal_of_sum(Communicator& comm, Exit exit) {
  Stream stream(1);
  std::vector<int64_t> words = {1};
  return testing_support::refusal_of(exit, [&] { comm.all_reduce(stream, words); });
}

/// The words of a reduce_scatter of one element a rank that is refused.
std::string refusal_of_scatter(Communicator& comm) {
  Stream stream(1);
  std::vector<float> full(size_t(comm.ranks())), shard(1);
  return testing_support::refusal_of(Exit::kInternal, [&] {
    comm.reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, {1, 0, 1}, full.data(),
                        shard.data());
  });
}

struct CodeCase {
  int code;
  Exit exit;
};

TEST_F(NcclOverFake, ErrorsEndAsWhatTheyAre) {
  for (const CodeCase& one :
       {CodeCase{ncclSystemError, Exit::kHang}, CodeCase{ncclRemoteError, Exit::kHang},
        CodeCase{ncclUnhandledCudaError, Exit::kInternal},
        CodeCase{ncclInternalError, Exit::kInternal},
        CodeCase{ncclInvalidArgument, Exit::kInternal}}) {
    fake_nccl::reset();
    fake_nccl::faults().fail_call = 1;
    fake_nccl::faults().fail_code = one.code;
    const auto comm = make_nccl({});
    const std::string words = refusal_of_sum(*comm, one.exit);
    EXPECT_THAT(words, HasSubstr("an all_reduce failed in NCCL: "));
    EXPECT_THAT(words, HasSubstr(ncclGetErrorString(ncclResult_t(one.code))));
    EXPECT_THAT(words, HasSubstr("a fault on purpose")) << "NCCL's own words";
  }
}

TEST_F(NcclOverFake, AFaultOfOneRankIsALostPeerToTheOthers) {
  if (processes() == 1) GTEST_SKIP() << "nobody is lost";
  fake_nccl::faults().rank = 0;
  fake_nccl::faults().fail_call = 1;
  fake_nccl::faults().fail_code = ncclInternalError;
  const auto comm = make_nccl({});
  if (comm->rank() == 0) {
    refusal_of_sum(*comm, Exit::kInternal);
  } else {
    EXPECT_THAT(refusal_of_sum(*comm, Exit::kHang), HasSubstr("a peer rank has ended"));
  }
}

TEST_F(NcclOverFake, ABrokenDeviceSpeaksForItself) {
  const auto comm = make_nccl({});
  fake_nccl::faults().fail_call = 1;
  fake_nccl::faults().fail_code = ncclUnhandledCudaError;
  fake_nccl::faults().device_status = cudaErrorECCUncorrectable;
  EXPECT_THAT(refusal_of_sum(*comm, Exit::kDevice),
              HasSubstr("failed in CUDA: uncorrectable ECC error"));
}

TEST_F(NcclOverFake, ABrokenDeviceIsNoWantOfMemory) {
  const auto comm = make_nccl({.staging_bytes = 0});
  fake_nccl::faults().fail_memory = 2;
  fake_nccl::faults().device_status = cudaErrorECCUncorrectable;
  EXPECT_THAT(testing_support::refusal_of(Exit::kDevice, [&] { comm->take_arena(8192); }),
              HasSubstr("taking device memory failed in CUDA: uncorrectable ECC error"));
}

/// In a thread that has chosen no device.
template <class Work>
void in_new_thread(const Work& work) {
  std::thread(work).join();
}

// A thread that never chose would do it on the first device of the node.
TEST_F(NcclOverFake, TakesAndGivesBackOnTheRanksOwnDevice) {
  std::unique_ptr<Communicator> comm;
  Arena arena;
  std::unique_ptr<Window> window;
  in_new_thread([&] { comm = make_nccl({.staging_bytes = 0}); });
  in_new_thread([&] { arena = comm->take_arena(8192); });
  in_new_thread([&] { window = comm->open_window(arena); });
  in_new_thread([&] { window.reset(); });
  in_new_thread([&] { arena = Arena(); });
  in_new_thread([&] { comm.reset(); });
}

TEST_F(NcclOverFake, MemoryThatItDoesNotGetIsNotALostPeer) {
  fake_nccl::faults().lazy_bytes = 100;
  fake_nccl::faults().device_bytes = 150;
  const auto first = make_nccl({}), second = make_nccl({});
  first->barrier();
  first->barrier();
  EXPECT_EQ(fake_nccl::lazy_bytes_taken(), 100) << "at the first collective alone";
  EXPECT_THAT(refusal_of_sum(*second, Exit::kDoesNotFit), HasSubstr("memory.device_limit"));
  fake_nccl::faults().fail_memory = 1;
  EXPECT_THAT(
      testing_support::refusal_of(Exit::kDoesNotFit, [&] { first->take_arena(int64_t(1) << 20); }),
      HasSubstr("1048576 bytes"));
}

TEST_F(NcclOverFake, NoRankHasAWindowWhereOneHasNone) {
  const auto comm = make_nccl({.staging_bytes = 0});
  const Arena arena = comm->take_arena(8192);
  EXPECT_EQ(std::count(arena.data(), arena.data() + 8192, std::byte{0}), 8192);
  EXPECT_NE(comm->open_window(arena), nullptr);
  fake_nccl::faults().rank = comm->ranks() - 1;
  fake_nccl::faults().no_window = 1;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(comm->open_window(arena), nullptr);
  EXPECT_EQ(comm->open_window(arena), nullptr);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("opens no windows") != std::string::npos, comm->rank() == 0) << said;
  EXPECT_EQ(said.find("windows"), said.rfind("windows")) << "once";
}

TEST_F(NcclOverFake, AnErrorIsNotTheAnswerThatThereAreNoWindows) {
  const auto comm = make_nccl({.staging_bytes = 0});
  const Arena arena = comm->take_arena(8192);
  fake_nccl::faults().fail_window = ncclInternalError;
  EXPECT_THAT(testing_support::refusal_of(Exit::kInternal, [&] { comm->open_window(arena); }),
              HasSubstr("registering memory failed in NCCL: internal error"));
}

TEST_F(NcclOverFake, RanksOnOneDeviceAreRefusedUnlessNcclIsToldOtherwise) {
  fake_nccl::faults().one_device = 1;
  const auto is_refused = [] {
    return testing_support::refusal_of(Exit::kUsage, [] { make_nccl({}); });
  };
  if (processes() == 1) GTEST_SKIP() << "nobody shares";
  EXPECT_THAT(is_refused(), HasSubstr("ranks 0 and 1 drive one GPU"));
  EXPECT_FALSE(nccl_shares_devices());
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  EXPECT_THAT(is_refused(), HasSubstr("nccl_on_one_gpu.sh"));
  fake_nccl::faults().version = 23007;
  EXPECT_TRUE(nccl_shares_devices());
  make_nccl({})->barrier();
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  fake_nccl::faults().version = 22809;
  setenv("NCCL_HOSTID", text("r", World().rank()).c_str(), 1);
  make_nccl({})->barrier();
  setenv("NCCL_HOSTID", "all the same", 1);
  is_refused();
  unsetenv("NCCL_HOSTID");
}

TEST_F(NcclOverFake, RefusesWhatItWasNotMadeFor) {
  const auto host = make_self();
  EXPECT_THAT(testing_support::refusal_of(Exit::kUsage, [] { make_nccl({.staging_bytes = 3}); }),
              HasSubstr("need at least"));
  EXPECT_THAT(
      testing_support::refusal_of(Exit::kInternal, [&] { make_nccl({.shares_with = host.get()}); }),
      HasSubstr("NCCL's alone"));
  const auto comm = make_nccl({.staging_bytes = 0});
  EXPECT_THAT(refusal_of_scatter(*comm), HasSubstr("without staging"));
}

TEST_F(NcclOverFake, AnAsynchronousErrorIsToldToWhoAsks) {
  const auto comm = make_nccl({});
  comm->require_sound();
  fake_nccl::faults().break_call = 1;
  fake_nccl::faults().patience_ms = 300;
  std::string words;
  std::thread watchdog([&] {
    for (int i = 0; i < 100 && words.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      try {
        comm->require_sound();
      } catch (const Error& error) {
        EXPECT_EQ(int(error.exit()), int(Exit::kHang));
        words = error.what();
      }
    }
  });
  refusal_of_sum(*comm, Exit::kHang);
  watchdog.join();
  EXPECT_THAT(words, HasSubstr("communication between ranks failed in NCCL: remote process"));
}

/// A training's arena: full, shard, gathered, all in one window.
class ArenaRun {
 public:
  static constexpr int64_t kNumel = 64 * 40;

  explicit ArenaRun(int64_t staging_bytes)
      : comm_(make_nccl({.staging_bytes = staging_bytes})),
        arena_(comm_->take_arena((2 * comm_->ranks() + 1) * kNumel * 4)),
        window_(comm_->open_window(arena_)) {}

  void check_sums() {
    float* const full = floats(0);
    float* const shard = floats(comm_->ranks());
    for (int64_t i = 0; i < comm_->ranks() * kNumel; ++i)
      full[i] = testing::contribution(comm_->rank(), i);
    Stream stream(1);
    comm_->reduce_scatter(stream, {.in = Dtype::f32, .out = Dtype::f32}, kWhole, full, shard);
    for (int64_t i = 0; i < kNumel; ++i) {
      const int64_t at = comm_->rank() * kNumel + i;
      ASSERT_EQ(shard[i], testing::balanced_contributions<float>(comm_->ranks(), at)) << i;
    }
  }
  void check_gathers(const Piece& piece) {
    float* const shard = floats(comm_->ranks());
    float* const gathered = floats(comm_->ranks() + 1);
    Stream stream(1);
    for (int64_t i = 0; i < kNumel; ++i) shard[i] = float(comm_->rank() * kNumel + i);
    std::fill_n(gathered, comm_->ranks() * kNumel, -1.0f);
    comm_->all_gather(stream, Dtype::f32, piece, shard, gathered);
    for (int64_t j = 0; j < comm_->ranks() * kNumel; ++j) {
      const int64_t i = j % kNumel;
      const bool inside = i >= piece.begin && i < piece.begin + piece.numel;
      ASSERT_EQ(gathered[j], inside ? float(j) : -1.0f) << j;
    }
  }

  static constexpr Piece kWhole{.shard_numel = kNumel, .begin = 0, .numel = kNumel};

 private:
  float* floats(int64_t shards) {
    return reinterpret_cast<float*>(arena_.data()) + shards * kNumel;
  }

  std::unique_ptr<Communicator> comm_;
  Arena arena_;
  std::unique_ptr<Window> window_;
};

TEST_F(NcclOverFake, PartsOfAReduceScatterAreAlignedAtAnyNumberOfRanks) {
  fake_nccl::faults().strict = 1;
  ArenaRun run(4 * 1001 * processes());
  run.check_sums();
  EXPECT_EQ(fake_nccl::calls(), 3 * 2 * (processes() - 1)) << "parts of 960, 960 and 640";
}

template <class T, class Out>
void sum_by_pairs(Communicator::Store store) {
  constexpr Piece kPiece{.shard_numel = 1501, .begin = 3, .numel = 1397};
  const auto comm = make_nccl({.staging_bytes = 2 * 4 * 128, .group = 2});
  std::vector<T> full;
  for (int64_t i = 0; i < comm->ranks() * kPiece.shard_numel; ++i)
    full.push_back(T(testing::contribution(comm->rank(), i)));
  std::vector<Out> shard(1501, Out(0.5f));
  std::vector<float> sums(size_t(kernels::group_sums(comm->ranks(), 2) * kPiece.numel));
  Stream stream(1);
  comm->reduce_scatter(stream, {dtype_of<T>(), dtype_of<Out>(), store, sums.data()}, kPiece,
                       full.data(), shard.data());
  for (int64_t i = 3; i < 1400; ++i) {
    const float sum =
        testing::balanced_contributions<T>(comm->ranks(), comm->rank() * kPiece.shard_numel + i);
    const float expected = store == Communicator::Store::add ? 0.5f + sum : float(Out(sum));
    ASSERT_EQ(float(shard[size_t(i)]), expected) << "element " << i;
  }
}

TEST_F(NcclOverFake, SumsByGroupsOfRanksToTheBitsOfTheBalancedTree) {
  sum_by_pairs<float, float>(Communicator::Store::write);
  sum_by_pairs<bf16, float>(Communicator::Store::add);
  sum_by_pairs<f16, f16>(Communicator::Store::write);
  if (processes() <= 2) return;
  const auto comm = make_nccl({.group = 2});
  EXPECT_THAT(refusal_of_scatter(*comm), HasSubstr("without room for the sums"));
}

TEST_F(NcclOverFake, GathersWholesAndPiecesOfAWindow) {
  fake_nccl::faults().strict = 1;
  ArenaRun run(4096);
  run.check_gathers(ArenaRun::kWhole);
  EXPECT_EQ(fake_nccl::calls(), 1);
  run.check_gathers({.shard_numel = ArenaRun::kNumel, .begin = 128, .numel = 64});
  EXPECT_EQ(fake_nccl::calls(), 1 + processes());
}

}  // namespace
}  // namespace zero::comm
