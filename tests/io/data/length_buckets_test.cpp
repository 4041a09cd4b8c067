// Ranks: 1

#include "io/data/length_buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

using testing::ElementsAre;
using Pairs = std::vector<LengthPair>;

int64_t padded(const Pairs& pairs, const Pairs& samples) {
  int64_t tokens = 0;
  for (const LengthPair& sample : samples) tokens += pairs[size_t(pair_of(pairs, sample))].tokens();
  return tokens;
}

/// The fewest tokens over all chains of at most `most` places that end with the last.
int64_t fewest(const LengthHistogram& grid, const Pairs& samples, int64_t most, Pairs& chain) {
  int64_t best = padded(chain, samples);
  if (int64_t(chain.size()) == most) return best;
  for (int64_t i = 0; i < grid.sources(); ++i) {
    for (int64_t j = 0; j < grid.targets(); ++j) {
      const LengthPair pair = grid.at(i, j);
      if (!chain.front().covers(pair) || chain.front() == pair) continue;
      chain.insert(chain.begin(), pair);
      best = std::min(best, fewest(grid, samples, most, chain));
      chain.erase(chain.begin());
    }
  }
  return best;
}

TEST(LengthPairs, AreThoseOfTwoGroupsOfSamples) {
  LengthHistogram histogram({.source = 32, .target = 16}, 8);
  for (int i = 0; i < 10; ++i) histogram.add({.source = 5, .target = 8});
  histogram.add({.source = 30, .target = 3});
  EXPECT_THAT(choose_length_pairs(histogram, 4),
              ElementsAre(LengthPair{8, 8}, LengthPair{32, 8}, LengthPair{32, 16}));
  EXPECT_THAT(choose_length_pairs(histogram, 2), ElementsAre(LengthPair{8, 8}, LengthPair{32, 16}));
  EXPECT_THAT(choose_length_pairs(histogram, 1), ElementsAre(LengthPair{32, 16}));
}

TEST(LengthPairs, AreAsFewAsPadToTheFewestTokens) {
  LengthHistogram histogram({.source = 16, .target = 16}, 8);
  histogram.add({.source = 16, .target = 9});
  EXPECT_THAT(choose_length_pairs(histogram, 4), ElementsAre(LengthPair{16, 16}));
}

TEST(LengthPairs, PadToTheFewestTokensOfAllThatThereAre) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const LengthPair longest{.source = 3 + int64_t(random() % 4),
                             .target = 2 + int64_t(random() % 4)};
    LengthHistogram grid(longest, 1);
    Pairs samples(1 + random() % 30);
    for (LengthPair& sample : samples) {
      sample = {.source = 1 + int64_t(random() % uint64_t(longest.source)),
                .target = 1 + int64_t(random() % uint64_t(longest.target))};
      if (round % 2) sample.target = std::min(sample.target, sample.source);
      grid.add(sample);
    }
    for (const int64_t most : {1, 2, 3, 4}) {
      const Pairs chosen = choose_length_pairs(grid, most);
      ASSERT_LE(int64_t(chosen.size()), most);
      for (size_t i = 1; i < chosen.size(); ++i) EXPECT_TRUE(chosen[i].covers(chosen[i - 1]));
      Pairs chain = {longest};
      EXPECT_EQ(padded(chosen, samples), fewest(grid, samples, most, chain)) << round;
    }
  }
}

TEST(LengthHistogram, HasAtMostItsLevelsWhateverTheLengths) {
  const LengthHistogram grid({.source = 1000, .target = 3}, 8);
  EXPECT_EQ(grid.sources(), 63);  // steps of 16
  EXPECT_EQ(grid.targets(), 1);
  EXPECT_EQ(grid.at(0, 0), (LengthPair{16, 3}));
  EXPECT_EQ(grid.at(62, 0), (LengthPair{1000, 3}));
}

TEST(LengthHistogram, RefusesASampleBeyondItsLengths) {
  LengthHistogram grid({.source = 8, .target = 8}, 8);
  EXPECT_THROW(grid.add({.source = 9, .target = 1}), Error);
  EXPECT_THROW(grid.add({.source = 0, .target = 1}), Error);
  EXPECT_THROW(pair_of(Pairs{{8, 8}}, {.source = 1, .target = 9}), Error);
}

}  // namespace
}  // namespace zero
