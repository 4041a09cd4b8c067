// Ranks: 1

#include "kernels/vendor/algorithm_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/temp_file.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {
namespace {

Algorithm algorithm(int first, float microseconds) {
  Algorithm made{.description = {}, .microseconds = microseconds};
  made.description[0] = std::byte(first);
  made.description[63] = std::byte(0xfe);
  return made;
}

/// The first byte of what is kept for a problem; -1: nothing.
int found(const AlgorithmCache& cache, const std::string& problem) {
  const std::optional<Algorithm> known = cache.find(problem);
  return known ? int(known->description[0]) : -1;
}

TEST(AlgorithmCache, GivesBackWhatAnEarlierProcessKept) {
  const testing_support::TempFile file("algorithms", "");
  AlgorithmCache(file.path(), "H200 13.0").keep("64 x 64", algorithm(7, 12.5f));
  const AlgorithmCache later(file.path(), "H200 13.0");
  ASSERT_TRUE(later.find("64 x 64").has_value());
  EXPECT_EQ(later.find("64 x 64")->description, algorithm(7, 0).description);
  EXPECT_EQ(later.find("64 x 64")->microseconds, 12.5f);
  EXPECT_EQ(found(later, "64 x 65"), -1);
}

TEST(AlgorithmCache, KeepsMachinesApartInOneFile) {
  const testing_support::TempFile file("algorithms", "");
  AlgorithmCache(file.path(), "H200 13.0").keep("64 x 64", algorithm(1, 1));
  AlgorithmCache(file.path(), "H200 13.1").keep("64 x 64", algorithm(2, 1));
  EXPECT_EQ(found(AlgorithmCache(file.path(), "H200 13.0"), "64 x 64"), 1);
  EXPECT_EQ(found(AlgorithmCache(file.path(), "H200 13.1"), "64 x 64"), 2);
  EXPECT_EQ(found(AlgorithmCache(file.path(), "H100 13.1"), "64 x 64"), -1);
}

TEST(AlgorithmCache, TheLastEntryCounts) {
  const testing_support::TempFile file("algorithms", "");
  AlgorithmCache cache(file.path(), "m");
  cache.keep("p", algorithm(1, 9));
  cache.keep("p", algorithm(2, 8));
  EXPECT_EQ(found(cache, "p"), 2);
  EXPECT_EQ(found(AlgorithmCache(file.path(), "m"), "p"), 2);
}

TEST(AlgorithmCache, PassesOverDamagedLinesAndReadsTheRest) {
  const testing_support::TempFile file("algorithms", "");
  AlgorithmCache cache(file.path(), "m");
  cache.keep("a", algorithm(1, 9));
  cache.keep("b", algorithm(2, 9));
  std::string content;
  std::getline(std::ifstream(file.path()), content, '\0');
  content[content.find("a\t01") + 2] = '3';             // still a number, but another algorithm
  std::ofstream(file.path()) << content << "m\tc\t00";  // and a writer that was stopped
  AlgorithmCache later(file.path(), "m");
  EXPECT_EQ(found(later, "a"), -1);
  EXPECT_EQ(found(later, "b"), 2);
  EXPECT_EQ(later.damaged_lines(), 2);
  later.keep("d", algorithm(4, 9));
  EXPECT_EQ(found(AlgorithmCache(file.path(), "m"), "d"), 4) << "behind the torn line";
}

TEST(AlgorithmCache, TakesLinesFromSeveralWritersAtOnce) {
  const testing_support::TempFile file("algorithms", "");
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([&file, writer] {
        AlgorithmCache cache(file.path(), "m");
        for (int i = 0; i < 50; ++i)
          cache.keep(std::to_string(writer) + " " + std::to_string(i), algorithm(writer + 1, 1));
      });
    }
  }
  const AlgorithmCache all(file.path(), "m");
  EXPECT_EQ(all.damaged_lines(), 0);
  for (int writer = 0; writer < 4; ++writer)
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(found(all, std::to_string(writer) + " " + std::to_string(i)), writer + 1);
}

TEST(AlgorithmCache, ReadsOnWhatOthersHaveAdded) {
  const testing_support::TempFile file("algorithms", "");
  AlgorithmCache one(file.path(), "m"), other(file.path(), "m");
  for (int turn = 1; turn < 4; ++turn) {
    one.keep("p", algorithm(turn, 1));
    EXPECT_EQ(found(other, "p"), turn == 1 ? -1 : turn - 1);
    other.read_on();
    EXPECT_EQ(found(other, "p"), turn);
  }
  std::ofstream(file.path(), std::ios::app) << "torn";
  other.read_on();
  one.keep("q", algorithm(9, 1));
  other.read_on();
  EXPECT_EQ(found(other, "q"), 9) << "behind the torn line";
  EXPECT_EQ(other.damaged_lines(), 1);
}

TEST(AlgorithmCache, ATurnIsOfOneAtATimeAndEndsByItself) {
  const testing_support::TempFile file("algorithms", "");
  const AlgorithmCache one(file.path(), "m"), other(file.path(), "m");
  {
    const AlgorithmCache::Turn turn(one);
    EXPECT_TRUE(turn.alone());
    EXPECT_FALSE(AlgorithmCache::Turn(other, 20).alone()) << "goes on after 20 ms";
  }
  EXPECT_TRUE(AlgorithmCache::Turn(other, 20).alone());
  for (const char* path : {"", "/nowhere/at/all"})
    EXPECT_FALSE(AlgorithmCache::Turn(AlgorithmCache(path, "m")).alone());
}

TEST(AlgorithmCache, MakesTheFolderOfItsFile) {
  const testing_support::TempFile file("algorithms", "");
  const std::string path = file.path() + ".cache/products.txt";
  AlgorithmCache(path, "m").keep("p", algorithm(3, 1));
  EXPECT_EQ(found(AlgorithmCache(path, "m"), "p"), 3);
  std::filesystem::remove_all(file.path() + ".cache");
}

TEST(AlgorithmCache, LiesInTheCurrentFolderUnlessItsNameSaysMore) {
  const testing_support::TempFile file("algorithms", "");
  const std::string folder = file.path() + ".current";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  AlgorithmCache("products", "m").keep("p", algorithm(4, 1));
  EXPECT_EQ(found(AlgorithmCache("products", "m"), "p"), 4);
  EXPECT_TRUE(std::filesystem::is_regular_file("products"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(AlgorithmCache, WithoutAFileItServesThisProcess) {
  for (const char* path : {"", "/nowhere/at/all"}) {
    AlgorithmCache cache(path, "m");
    cache.keep("p", algorithm(5, 1));
    EXPECT_EQ(found(cache, "p"), 5);
  }
}

TEST(AlgorithmCache, StopsGrowingAtItsLimit) {
  const testing_support::TempFile file("algorithms", "");
  std::ofstream(file.path()) << std::string(AlgorithmCache::kBytesMost, '\n');
  AlgorithmCache cache(file.path(), "m");
  cache.keep("p", algorithm(5, 1));
  EXPECT_EQ(std::filesystem::file_size(file.path()), AlgorithmCache::kBytesMost);
}

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

using Squares = MadeOnce<int, int>;

TEST(MadeOnce, MakesAValueAtTheFirstUseOfItsKeyAlone) {
  Squares squares;
  int made = 0;
  const auto square = [&](int key) {
    ++made;
    return key * key;
  };
  for (int key : {3, 4, 3, 3, 4}) EXPECT_EQ(squares.get(key, square), key * key);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(squares.size(), 2u);
}

TEST(MadeOnce, KeepsValuesInTheirPlace) {
  Squares squares;
  const auto square = [](int key) { return key * key; };
  const int* const first = &squares.get(0, square);
  for (int key = 1; key < int(Squares::kMost); ++key) squares.get(key, square);
  EXPECT_EQ(&squares.get(0, square), first);
  EXPECT_EQ(squares.size(), Squares::kMost);
}

TEST(MadeOnce, BeginsAfreshRatherThanGrowWithoutEnd) {
  Squares squares;
  const auto square = [](int key) { return key * key; };
  for (int key = 0; key < int(3 * Squares::kMost); ++key) {
    EXPECT_EQ(squares.get(key, square), key * key);
    EXPECT_LE(squares.size(), Squares::kMost);
  }
}

TEST(MadeOnce, RemembersNothingThatFailed) {
  Squares squares;
  EXPECT_THROW(squares.get(1, [](int) -> int { throw 1; }), int);
  EXPECT_EQ(squares.size(), 0u);
  EXPECT_EQ(squares.get(1, [](int) { return 5; }), 5);
}

}  // namespace

}  // namespace zero::kernels::vendor
