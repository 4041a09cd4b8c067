// Ranks: 1

#include "io/data/mixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "zero/base/error.hpp"

namespace zero {
namespace {

TEST(Mixture, KeepsItsSharesAfterAnyCountOfSamples) {
  const std::vector<Mixture::Part> parts = {{1000, 6}, {50, 3}, {7, 0.9}, {100000, 0.1}};
  const Mixture mixture(parts, 7);
  std::vector<int64_t> counts(4);
  for (int64_t n = 0; n < 100'000; ++n) {
    ++counts[mixture.at(n).part];
    if (n % 997 != 996) continue;
    for (size_t i = 0; i < 4; ++i)
      ASSERT_NEAR(double(counts[i]), parts[i].weight / 10 * double(n + 1), 3) << n << ' ' << i;
  }
}

TEST(Mixture, TakesEachSampleOfAPartOnceBeforeItComesAgain) {
  const Mixture mixture({{30, 1}, {10, 3}}, 1);
  std::vector<int64_t> large, small;
  for (int64_t n = 0; n < 120; ++n) {
    const Mixture::Place place = mixture.at(n);
    (place.part == 0 ? large : small).push_back(place.sample);
  }
  ASSERT_EQ(large.size(), 30u);
  EXPECT_EQ(std::set<int64_t>(large.begin(), large.end()).size(), 30u);
  for (size_t epoch = 0; epoch < 9; ++epoch) {
    const auto begin = small.begin() + ptrdiff_t(10 * epoch);
    EXPECT_EQ(std::set<int64_t>(begin, begin + 10).size(), 10u);
  }
  EXPECT_FALSE(std::equal(small.begin(), small.begin() + 10, small.begin() + 10));
}

TEST(Mixture, IsAFunctionOfSeedAndPosition) {
  const std::vector<Mixture::Part> parts = {{100, 1}, {100, 1}};
  const Mixture one(parts, 3), same(parts, 3), other(parts, 4);
  int64_t equal = 0, first = 0;
  for (int64_t n = 199; n >= 0; --n) {
    EXPECT_EQ(one.at(n).sample, same.at(n).sample);
    EXPECT_EQ(one.at(n).part, same.at(n).part);
    equal += one.at(n).sample == other.at(n).sample;
    first += one.at(2 * n).sample == one.at(2 * n + 1).sample;
  }
  EXPECT_LT(equal, 20);
  EXPECT_LT(first, 20) << "parts of equal size have orders of their own";
  EXPECT_NO_THROW(one.at(int64_t(1) << 50));
  EXPECT_THROW(Mixture({{1, 0}}, 1), Error);
  EXPECT_THROW(Mixture({}, 1), Error);
}

}  // namespace
}  // namespace zero
