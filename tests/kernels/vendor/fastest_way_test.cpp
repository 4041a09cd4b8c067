// Ranks: 1

#include "kernels/vendor/fastest_way.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

/// Ways that count how often they are measured.
struct Trial {
  std::vector<float> times;        ///< of the ways; infinity: cannot be done
  std::vector<bool> taken;         ///< whether what was kept is still taken
  std::vector<int> measured = {};  ///< how often

  explicit Trial(std::vector<float> given)
      : times(std::move(given)), taken(times.size(), true), measured(times.size()) {}

  FastestWay choose(AlgorithmCache& cache) {
    std::vector<Way> ways;
    for (size_t i = 0; i < times.size(); ++i) {
      ways.push_back({.name = "p gelu " + std::to_string(i),
                      .takes = [this, i](const Algorithm&) { return bool(taken[i]); },
                      .measure = [this, i] { return measure(i); }});
    }
    return fastest_way(cache, ways);
  }

  std::optional<Algorithm> measure(size_t i) {
    ++measured[i];
    if (std::isinf(times[i])) return std::nullopt;
    return Algorithm{.description = {std::byte(i + 1)}, .microseconds = times[i]};
  }
};

TEST(FastestWay, IsMeasuredOnceAndThenKnown) {
  AlgorithmCache cache("", "m");
  Trial trial({9, 4, 6});
  for (int turn = 0; turn < 3; ++turn) {
    const FastestWay best = trial.choose(cache);
    EXPECT_EQ(best.way, 1u);
    EXPECT_EQ(best.algorithm.description[0], std::byte(2));
    EXPECT_EQ(best.algorithm.microseconds, 4);
  }
  EXPECT_EQ(trial.measured, (std::vector<int>{1, 1, 1}));
}

TEST(FastestWay, OfTwoEquallyFastIsTheFirst) {
  AlgorithmCache cache("", "m");
  EXPECT_EQ(Trial({5, 5}).choose(cache).way, 0u);
}

TEST(FastestWay, IsKnownToALaterProcess) {
  const testing_support::TempFile file("ways", "");
  AlgorithmCache first(file.path(), "H200 13.1"), other(file.path(), "H200 13.2");
  Trial({9, 4}).choose(first);
  Trial later({9, 4});
  AlgorithmCache second(file.path(), "H200 13.1");
  EXPECT_EQ(later.choose(second).way, 1u);
  EXPECT_EQ(later.measured, (std::vector<int>{0, 0}));
  later.choose(other);
  EXPECT_EQ(later.measured, (std::vector<int>{1, 1})) << "another library, measured anew";
}

TEST(FastestWay, OfRanksThatComeTogetherOneMeasuresAndAllGoOnAlike) {
  const testing_support::TempFile file("ways", "");
  std::atomic<int> measured = 0;
  std::array<std::byte, 4> chosen{};
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&, rank] {
        AlgorithmCache cache(file.path(), "m");
        const auto measure = [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return Algorithm{.description = {std::byte(++measured)}, .microseconds = 5};
        };
        const Way way{.name = "p",
                      .takes = [](const Algorithm&) { return true; },
                      .measure = [&] { return std::optional(measure()); }};
        chosen[size_t(rank)] = fastest_way(cache, {&way, 1}).algorithm.description[0];
      });
    }
  }
  EXPECT_EQ(measured, 1);
  for (const std::byte one : chosen) EXPECT_EQ(one, std::byte(1));
}

// A rank that has measured may hold a turn at the next problem and wait there for one that has not.
TEST(FastestWay, WhatAnotherHasMeasuredNeedsNoTurn) {
  const testing_support::TempFile file("ways", "");
  AlgorithmCache late(file.path(), "m"), ahead(file.path(), "m");
  Trial({9, 4}).choose(ahead);
  const AlgorithmCache::Turn turn(ahead);
  Trial trial({9, 4});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(trial.choose(late).way, 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(trial.measured, (std::vector<int>{0, 0}));
}

TEST(FastestWay, WhatCannotBeDoneIsAskedOnce) {
  const testing_support::TempFile file("ways", "");
  Trial trial({INFINITY, 4});
  trial.taken[0] = false;  // no algorithm was kept that could be
  for (int process = 0; process < 2; ++process) {
    AlgorithmCache cache(file.path(), "m");
    EXPECT_EQ(trial.choose(cache).way, 1u);
  }
  EXPECT_EQ(trial.measured, (std::vector<int>{1, 1}));
}

TEST(FastestWay, AnAlgorithmThatIsNoLongerTakenIsMeasuredAgain) {
  AlgorithmCache cache("", "m");
  Trial trial({3, 4});
  EXPECT_EQ(trial.choose(cache).way, 0u);
  trial.taken[0] = false;
  trial.times[0] = 8;
  EXPECT_EQ(trial.choose(cache).way, 1u);
  EXPECT_EQ(trial.measured, (std::vector<int>{2, 1}));
}

TEST(FastestWay, ReadsAFileOfTheTimeBeforeEpiloguesAndADamagedOne) {
  const testing_support::TempFile file("ways", "");
  AlgorithmCache(file.path(), "m").keep("p", {.description = {std::byte(7)}, .microseconds = 2});
  {
    AlgorithmCache cache(file.path(), "m");
    Trial trial({9, 4});
    EXPECT_EQ(trial.choose(cache).way, 1u);
    EXPECT_EQ(trial.measured, (std::vector<int>{1, 1}));
  }
  AlgorithmCache whole(file.path(), "m");
  EXPECT_EQ(whole.find("p")->description[0], std::byte(7)) << "what was there stays";
  std::string content;
  std::getline(std::ifstream(file.path()), content, '\0');
  content[content.find("p gelu 1\t") + 9] = 'f';
  std::ofstream(file.path()) << content;
  AlgorithmCache damaged(file.path(), "m");
  Trial again({9, 4});
  EXPECT_EQ(again.choose(damaged).way, 1u);
  EXPECT_EQ(again.measured, (std::vector<int>{0, 1})) << "only what was damaged";
}

TEST(FastestWay, OfNoneIsRefused) {
  AlgorithmCache cache("", "m");
  EXPECT_THROW(Trial({INFINITY, INFINITY}).choose(cache), Error);
}

}  // namespace
}  // namespace zero::kernels::vendor
