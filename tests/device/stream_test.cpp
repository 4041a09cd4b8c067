// Ranks: 1

#include "zero/device/stream.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "src/device/space.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

/// Adds 1 to every element, `times` times, on the stream's threads.
void add_ones(const Stream& stream, std::vector<int>& values, int times) {
  int* const data = values.data();
  for (int t = 0; t < times; ++t) {
    Kokkos::parallel_for("add", Kokkos::RangePolicy<Space>(stream.handle().space, 0, values.size()),
                         [=](int64_t i) { data[i] += 1; });
  }
}

TEST(Stream, RunsWorkOnItsOwnNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    Stream stream(threads);
    EXPECT_EQ(stream.threads(), threads);
    std::vector<int> seen(64, -1);
    int* const data = seen.data();
    Kokkos::parallel_for("who", Kokkos::RangePolicy<Space>(stream.handle().space, 0, 64),
                         [=](int64_t i) { data[i] = omp_get_num_threads(); });
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
  std::atomic<int> begun{0};
  std::atomic<int> met{0};
  const auto meet = [&] {
    Stream stream(1);
    Kokkos::parallel_for(
        "meet", Kokkos::RangePolicy<Space>(stream.handle().space, 0, 1), [&](int64_t) {
          ++begun;
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (begun < 2 && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
          }
          met += begun == 2;
        });
  };
  { std::jthread one(meet), other(meet); }
  EXPECT_EQ(met, 2);
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

TEST(Stream, RefusesToHaveNoThreads) {
  EXPECT_THROW(Stream(0), Error);
  EXPECT_THROW(Stream(-1), Error);
}

}  // namespace
}  // namespace zero
