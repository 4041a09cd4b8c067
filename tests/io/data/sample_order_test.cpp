// Ranks: 1
#include "io/data/sample_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {
namespace {

std::vector<int64_t> epoch_of(const SampleOrder& order, int64_t samples, int64_t epoch) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < samples; ++i) out.push_back(order.sample(epoch * samples + i));
  return out;
}

TEST(SampleOrder, VisitsEverySampleOnceInEveryEpoch) {
  for (int64_t n = 1; n <= 1000; ++n) {
    const SampleOrder order(42, n);
    for (const int64_t epoch : {0, 3}) {
      std::vector<bool> seen(size_t(n), false);
      for (const int64_t sample : epoch_of(order, n, epoch)) {
        ASSERT_TRUE(sample >= 0 && sample < n) << n;
        ASSERT_FALSE(seen[size_t(sample)]) << n;
        seen[size_t(sample)] = true;
      }
    }
  }
}

TEST(SampleOrder, DiffersFromEpochToEpochAndSeedToSeed) {
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 20; ++epoch)
    orders.insert(epoch_of(SampleOrder(1, 100), 100, epoch));
  for (uint64_t seed = 2; seed < 22; ++seed)
    orders.insert(epoch_of(SampleOrder(seed, 100), 100, 0));
  EXPECT_EQ(orders.size(), 40u);
}

TEST(SampleOrder, IsAFunctionOfItsArguments) {
  EXPECT_EQ(epoch_of(SampleOrder(5, 77), 77, 2), epoch_of(SampleOrder(5, 77), 77, 2));
}

TEST(SampleOrder, SpreadsEveryPositionOverAllSamples) {
  // The first sample of 3000 epochs, among 30: 100 times each, five standard deviations aside.
  std::vector<int> first(30);
  const SampleOrder order(9, 30);
  for (int64_t epoch = 0; epoch < 3000; ++epoch) ++first[size_t(order.sample(epoch * 30))];
  for (const int count : first) EXPECT_NEAR(count, 100, 50);
}

TEST(SampleOrder, WorksOnManySamplesAndLatePositions) {
  const int64_t many = int64_t(1) << 40;
  const SampleOrder order(3, many + 1);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 1000; ++i) seen.insert(order.sample(5 * (many + 1) + i));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_LE(*seen.rbegin(), many);
}

TEST(SampleOrder, RefusesNoSamplesAndPositionsBelowZero) {
  EXPECT_THROW(SampleOrder(1, 0), Error);
  EXPECT_THROW(SampleOrder(1, 5).sample(-1), Error);
}

}  // namespace
}  // namespace zero
