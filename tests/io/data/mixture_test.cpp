// Ranks: 1

#include "io/data/mixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

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

/// Expects a permutation in each whole epoch of a part, no sample twice in the last, and no two
/// epochs alike.
void expect_epochs(const std::vector<int64_t>& drawn, int64_t samples) {
  std::set<std::vector<int64_t>> epochs;
  for (size_t first = 0; first < drawn.size(); first += size_t(samples)) {
    const size_t count = std::min(size_t(samples), drawn.size() - first);
    const auto begin = drawn.begin() + ptrdiff_t(first);
    const std::set<int64_t> seen(begin, begin + ptrdiff_t(count));
    ASSERT_EQ(seen.size(), count) << "a sample comes again in the epoch from " << first << " on";
    ASSERT_GE(*seen.begin(), 0);
    ASSERT_LT(*seen.rbegin(), samples);
    ASSERT_TRUE(epochs.emplace(begin, begin + ptrdiff_t(count)).second) << first;
  }
}

TEST(Mixture, TakesEachSampleOfAPartOnceBeforeItComesAgain) {
  // First, middle and last parts, with fewer and with more samples than they are asked for.
  const std::vector<Mixture::Part> parts = {{30, 1}, {10, 3}, {1000, 2}, {17, 4}, {23, 1}};
  const Mixture mixture(parts, 1);
  std::vector<std::vector<int64_t>> drawn(parts.size());
  for (int64_t n = 0; n < 1100; ++n) {
    const Mixture::Place place = mixture.at(n);
    drawn[place.part].push_back(place.sample);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_NEAR(double(drawn[i].size()), parts[i].weight * 100, 4);
    expect_epochs(drawn[i], parts[i].samples);
  }
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
