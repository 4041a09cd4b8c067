// Ranks: 1

#include "io/data/buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

using ::testing::ElementsAre;
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
  EXPECT_THAT(choose_form_lengths(histogram, 4),
              ElementsAre(LengthPair{8, 8}, LengthPair{32, 8}, LengthPair{32, 16}));
  EXPECT_THAT(choose_form_lengths(histogram, 2), ElementsAre(LengthPair{8, 8}, LengthPair{32, 16}));
  EXPECT_THAT(choose_form_lengths(histogram, 1), ElementsAre(LengthPair{32, 16}));
}

TEST(LengthPairs, AreAsFewAsPadToTheFewestTokens) {
  LengthHistogram histogram({.source = 16, .target = 16}, 8);
  histogram.add({.source = 16, .target = 9});
  EXPECT_THAT(choose_form_lengths(histogram, 4), ElementsAre(LengthPair{16, 16}));
}

TEST(LengthPairs, OfSamplesOfOneTextAreLengthsAlone) {
  LengthHistogram histogram({.source = 0, .target = 64}, 8);
  for (int i = 0; i < 50; ++i) histogram.add({.target = 12});
  for (int i = 0; i < 20; ++i) histogram.add({.target = 30});
  histogram.add({.target = 64});
  EXPECT_EQ(histogram.sources(), 1);
  EXPECT_THAT(choose_form_lengths(histogram, 4),
              ElementsAre(LengthPair{0, 16}, LengthPair{0, 32}, LengthPair{0, 64}));
  EXPECT_THAT(choose_form_lengths(histogram, 2), ElementsAre(LengthPair{0, 16}, LengthPair{0, 64}))
      << "50 x 16 + 21 x 64, not 70 x 32 + 64";
  EXPECT_EQ(pair_of(choose_form_lengths(histogram, 4), {.target = 17}), 1);
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
      const Pairs chosen = choose_form_lengths(grid, most);
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

std::vector<uint8_t> random_buckets(size_t samples, std::mt19937& random) {
  std::vector<uint8_t> buckets(samples);
  for (uint8_t& bucket : buckets) bucket = uint8_t(std::min<uint32_t>(random() % 7, 3));
  return buckets;
}

/// The samples of an epoch in their order.
std::vector<int64_t> epoch_of(const BucketOrder& order, int64_t epoch, int64_t samples) {
  std::vector<int64_t> visited;
  for (int64_t i = 0; i < samples; ++i) visited.push_back(order.sample(epoch * samples + i));
  return visited;
}

TEST(BucketOrder, VisitsEachSampleOnceAnEpoch) {
  std::mt19937 random(1);
  for (const int64_t samples : {1, 2, 3, 7, 40, 101}) {
    const std::vector<uint8_t> buckets = random_buckets(size_t(samples), random);
    for (const int64_t micro : {1, 2, 3, 4, 8, 200}) {
      for (const auto seed : {std::optional<uint64_t>(), std::optional<uint64_t>(5)}) {
        const BucketOrder order(buckets, micro, seed);
        for (int64_t epoch = 0; epoch < 5; ++epoch) {
          const std::vector<int64_t> visited = epoch_of(order, epoch, samples);
          EXPECT_EQ(std::set(visited.begin(), visited.end()).size(), size_t(samples))
              << samples << " samples by " << micro << " in epoch " << epoch;
        }
      }
    }
  }
}

/// Over several epochs whose ends lie within micro-batches, too.
TEST(BucketOrder, MixesBucketsInNoMoreMicroBatchesThanThereAreBorders) {
  std::mt19937 random(2);
  const int64_t samples = 1003, micro = 8, epochs = 9;
  const std::vector<uint8_t> buckets = random_buckets(size_t(samples), random);
  const BucketOrder order(buckets, micro, 5);
  int64_t mixed = 0;
  for (int64_t first = 0; first + micro <= samples * epochs; first += micro) {
    std::set<uint8_t> met;
    for (int64_t i = 0; i < micro; ++i) met.insert(buckets[size_t(order.sample(first + i))]);
    mixed += met.size() > 1;
  }
  EXPECT_LE(mixed, 3 * epochs);
  EXPECT_GT(mixed, 0) << "nothing is left out to come to whole micro-batches";
}

TEST(BucketOrder, IsAnotherOneInEachEpochAndWithEachSeed) {
  std::mt19937 random(3);
  const std::vector<uint8_t> buckets = random_buckets(100, random);
  const BucketOrder order(buckets, 4, 5), other(buckets, 4, 6);
  EXPECT_NE(epoch_of(order, 0, 100), epoch_of(order, 1, 100));
  EXPECT_NE(epoch_of(order, 0, 100), epoch_of(other, 0, 100));
  EXPECT_EQ(epoch_of(order, 3, 100), epoch_of(BucketOrder(buckets, 4, 5), 3, 100));
}

TEST(BucketOrder, InterleavesTheBuckets) {
  std::vector<uint8_t> buckets(400, 0);
  std::fill_n(buckets.begin(), 200, uint8_t(1));
  const BucketOrder order(buckets, 4, 5);
  int64_t changes = 0;
  for (int64_t i = 4; i < 400; i += 4) {
    changes += buckets[size_t(order.sample(i))] != buckets[size_t(order.sample(i - 4))];
  }
  EXPECT_NEAR(double(changes), 50, 20);  // half of 99, 4 deviations of 5
}

/// A half of 200, 4 deviations of 7.
TEST(BucketOrder, DrawsTheFirstAndTheLastBlockOfAnEpochToo) {
  std::vector<uint8_t> buckets(40, 0);
  std::fill_n(buckets.begin(), 20, uint8_t(1));
  const BucketOrder order(buckets, 4, 5);
  for (const int64_t place : {0, 36}) {
    int64_t met = 0;
    for (int64_t epoch = 0; epoch < 200; ++epoch) {
      met += buckets[size_t(order.sample(40 * epoch + place))];
    }
    EXPECT_NEAR(double(met), 100, 28) << "at place " << place;
  }
}

TEST(BucketOrder, WithoutASeedKeepsTheOrderOfTheSource) {
  const std::vector<uint8_t> buckets = {1, 0, 1, 0, 0};
  EXPECT_THAT(epoch_of(BucketOrder(buckets, 1, {}), 0, 5), ElementsAre(1, 3, 4, 0, 2));
}

TEST(BucketOrder, RefusesNoSamples) { EXPECT_THROW(BucketOrder({}, 1, {}), Error); }

}  // namespace

}  // namespace zero
