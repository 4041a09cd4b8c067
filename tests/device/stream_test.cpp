// Ranks: 1

#include "zero/device/stream.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/device/arena.hpp"
#include "zero/device/copy.hpp"
#include "zero/device/space.hpp"

namespace zero {
namespace {

std::mutex launch_turn;

/// On a device one thread at a time launches, as Kokkos keeps what it knows of kernels without a
/// lock; what is launched runs at once all the same.
template <class Work>
void queue(const Stream& stream, size_t numel, const Work& work) {
  std::unique_lock turn(launch_turn, std::defer_lock);
  if (!std::is_same_v<Space, Kokkos::OpenMP>) turn.lock();
  Kokkos::parallel_for("test", Kokkos::RangePolicy<Space>(stream.handle().space, 0, numel), work);
}

struct AddOne {
  int* data;
  KOKKOS_FUNCTION void operator()(int64_t i) const { data[i] += 1; }
};

/// Adds 1 to every element, `times` times, on the stream's threads.
void add_ones(const Stream& stream, std::vector<int>& values, int times) {
  for (int t = 0; t < times; ++t) queue(stream, values.size(), AddOne{values.data()});
}

/// The threads that work, where they are the host's.
struct CountThreads {
  int* data;
  KOKKOS_FUNCTION void operator()([[maybe_unused]] int64_t i) const {
    KOKKOS_IF_ON_HOST((data[i] = omp_get_num_threads();))
  }
};

/// Waits inside the kernel until two have begun, or for a very long time.
struct Meet {
  int* begun;
  int* met;
  KOKKOS_FUNCTION void operator()(int64_t) const {
    constexpr int64_t kTurns = 50'000'000;
    Kokkos::atomic_inc(begun);
    for (int64_t turn = 0; turn < kTurns && Kokkos::atomic_load(begun) < 2; ++turn) {
      KOKKOS_IF_ON_HOST((std::this_thread::yield();))
    }
    if (Kokkos::atomic_load(begun) == 2) Kokkos::atomic_inc(met);
  }
};

TEST(Stream, RunsWorkOnItsOwnNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    Stream stream(threads);
    EXPECT_EQ(stream.threads(), threads);
    std::vector<int> seen(64, -1);
    queue(stream, seen.size(), CountThreads{seen.data()});
    stream.wait();
    EXPECT_EQ(seen, std::vector<int>(64, threads));
  }
}

TEST(Stream, WorkQueuedOnOneStreamKeepsItsOrder) {
  Stream stream(2);
  std::vector<int> values(1000, 0);
  add_ones(stream, values, 50);
  stream.wait();
  EXPECT_EQ(values, std::vector<int>(1000, 50));
}

TEST(Stream, StreamsOfDifferentThreadsWorkAtOnceAndCorrectly) {
  constexpr int kLanes = 4;
  std::vector<std::vector<int>> values(kLanes, std::vector<int>(5000, 0));
  {
    std::vector<std::jthread> lanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes.emplace_back([&values, lane] {
        Stream stream(1 + lane % 3);
        adopt_threads(stream);
        add_ones(stream, values[size_t(lane)], 200 + lane);
        stream.wait();
      });
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(values[size_t(lane)], std::vector<int>(5000, 200 + lane)) << "lane " << lane;
  }
}

TEST(Stream, TwoStreamsRunAtTheSameTime) {
  // Each waits inside its kernel until the other has begun: streams that took turns would hang, so
  // the wait has an end.
  std::vector<int> counts(2, 0);
  // Made beforehand, as a device may finish all its work first to give a stream its memory.
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 2; ++i) streams.push_back(std::make_unique<Stream>(1));
  const auto meet = [&](Stream& stream) {
    adopt_threads(stream);
    queue(stream, 1, Meet{&counts[0], &counts[1]});
    stream.wait();
  };
  {
    std::jthread one([&] { meet(*streams[0]); });
    std::jthread other([&] { meet(*streams[1]); });
  }
  EXPECT_EQ(counts[1], 2);
}

TEST(AdoptThreads, SetsTheCountOfTheCallingThreadAlone) {
  const int before = omp_get_max_threads();
  std::jthread([&] {
    const Stream stream(3);
    adopt_threads(stream);
    EXPECT_EQ(omp_get_max_threads(), 3);
  }).join();
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(Stream, SaysWhetherItIsOfTheHostAndRefusesAnyOtherMemory) {
  EXPECT_FALSE(Stream(1).is_of_host());
  EXPECT_TRUE(Stream(1, Place::host).is_of_host());
  EXPECT_THROW(Stream(1, Place::pinned), Error);
}

TEST(Stream, RefusesToHaveNoThreads) {
  EXPECT_THROW(Stream(0), Error);
  EXPECT_THROW(Stream(-1), Error);
}

TEST(Event, WhatAnotherStreamQueuesBehindItSeesTheWorkBeforeIt) {
  Stream first(1), second(1);
  Event event;
  std::vector<std::byte> from(1000, std::byte(3)), between(1000), to(1000);
  copy_bytes(first, from, between.data());
  event.record(first);
  event.hold(second);
  copy_bytes(second, between, to.data());
  second.wait();
  EXPECT_EQ(to, from);
}

TEST(Event, MayBeWaitedForBeforeAnythingIsRecordedAndAgainAfterwards) {
  Stream stream(1);
  Event event;
  event.hold(stream);
  event.wait();
  std::vector<std::byte> from(10, std::byte(3)), to(10);
  for (int turn = 0; turn < 3; ++turn) {
    from[0] = std::byte(turn);
    copy_bytes(stream, from, to.data());
    event.record(stream);
    event.wait();
    EXPECT_EQ(to, from);
  }
}

TEST(Moment, TellsTheSecondsBetweenTwoMarksOnDifferentStreams) {
  Stream first(1), second(1);
  Moment begin, end;
  begin.mark(first);
  begin.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end.mark(second);
  end.wait();
  EXPECT_GT(end.seconds_since(begin), 0.019);
  EXPECT_LT(end.seconds_since(begin), 5);
}

TEST(Moment, IsReachedWhenTheWorkBeforeItIsDone) {
  Stream stream(1);
  Moment moment;
  EXPECT_TRUE(moment.reached()) << "nothing is marked";
  std::vector<std::byte> from(1000, std::byte(3)), to(1000);
  for (int turn = 0; turn < 3; ++turn) {
    from[0] = std::byte(turn);
    copy_bytes(stream, from, to.data());
    moment.mark(stream);
    moment.wait();
    EXPECT_TRUE(moment.reached());
    EXPECT_EQ(to, from);
  }
}

struct Blocks {
  Arena from{1000, Place::pinned}, to{1000, Place::pinned};
  Stream stream{1};
  void copy() { copy_bytes(stream, {from.data(), 1000}, to.data()); }
};

TEST(Recording, RunsWhatWasRecordedOnTheBytesOfToday) {
  if (!Recording::is_possible()) GTEST_SKIP() << "a host's streams are not recorded";
  Blocks blocks;
  blocks.copy();
  Recording recording;
  recording.make(blocks.stream, [&] { blocks.copy(); });
  ASSERT_TRUE(recording.is_made());
  for (int turn = 1; turn < 4; ++turn) {
    blocks.from.data()[7] = std::byte(turn);
    EXPECT_NE(blocks.to.data()[7], std::byte(turn)) << "recorded, not run";
    recording.queue(blocks.stream);
    blocks.stream.wait();
    EXPECT_EQ(blocks.to.data()[7], std::byte(turn));
  }
}

TEST(Recording, IsRefusedOnAHostAndGivenUpWhenWorkThrows) {
  Blocks blocks;
  Recording recording;
  const auto fails = [] { refuse(Exit::kNumerics, "no"); };
  EXPECT_THROW(recording.make(blocks.stream, fails), Error);
  EXPECT_FALSE(recording.is_made());
  blocks.from.data()[0] = std::byte(9);
  blocks.copy();
  blocks.stream.wait();
  EXPECT_EQ(blocks.to.data()[0], std::byte(9));
}

}  // namespace

}  // namespace zero
