// Ranks: 1

#include "zero/base/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace zero {
namespace {

ExactSum sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  sum.clear();
  for (double term : terms) sum.add(term);
  return sum;
}

double value_of(const std::vector<double>& terms) { return sum_of(terms).value(); }

/// Terms of widely different sizes and both signs.
std::vector<double> mixed_terms(int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> terms;
  for (int i = 0; i < count; ++i) {
    const double mantissa = double(int32_t(random())) + double(random()) * 0x1p-32;
    terms.push_back(std::ldexp(mantissa, int(random() % 600) - 300));
  }
  return terms;
}

TEST(ExactSum, OneTermComesBackAsItIs) {
  constexpr double kMin = std::numeric_limits<double>::denorm_min();
  constexpr double kMax = std::numeric_limits<double>::max();
  for (double term : {0.0, 1.0, -1.0, 0.1, kMin, -kMin, 0x1p-1022, 0x0.fffffffffffffp-1022, kMax,
                      -kMax, 0x1.fffffffffffffp0}) {
    EXPECT_EQ(value_of({term}), term);
  }
}

TEST(ExactSum, CancellationLeavesWhatIsLeft) {
  EXPECT_EQ(value_of({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(value_of({1e300, 0x1p-1074, -1e300}), 0x1p-1074);
  EXPECT_EQ(value_of({0.1, -0.1}), 0.0);
  EXPECT_EQ(value_of({-1e300, 1e300, -2.5}), -2.5);
}

TEST(ExactSum, RoundsTheWholeSumOnceToEven) {
  // 1 + 2^-53 lies halfway between 1 and its neighbour; any dust above it decides.
  EXPECT_EQ(value_of({1.0, 0x1p-53}), 1.0);
  EXPECT_EQ(value_of({1.0, 0x1p-53, 0x1p-1074}), 1.0 + 0x1p-52);
  EXPECT_EQ(value_of({1.0, 0x1p-53, -0x1p-1074}), 1.0);
  EXPECT_EQ(value_of({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
  EXPECT_EQ(value_of({-1.0, -0x1p-53, -0x1p-200}), -1.0 - 0x1p-52);
  // The rounding position in every place of a limb, with dust in the next and in a far limb.
  for (int power = -900; power <= 900; ++power) {
    const double one = std::ldexp(1.0, power);
    EXPECT_EQ(value_of({one, std::ldexp(one, -53), std::ldexp(one, -54 - 40)}),
              one + std::ldexp(one, -52));
    EXPECT_EQ(value_of({one, std::ldexp(one, -53), std::ldexp(-one, -54 - 100)}), one);
  }
}

TEST(ExactSum, ATooLargeSumIsInfinity) {
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(value_of({kMax, kMax}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value_of({kMax, kMax, -kMax}), kMax);
}

TEST(ExactSum, AgreesWithWideIntegers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    __int128 wide = 0;
    std::vector<double> terms;
    for (int i = 0; i < 1000; ++i) {
      const int64_t term = int64_t(random()) >> (11 + random() % 40);  // at most 53 bits
      const int shift = int(random() % 60);
      terms.push_back(std::ldexp(double(term), shift));
      wide += __int128(term) << shift;
    }
    EXPECT_EQ(value_of(terms), double(wide));  // a conversion that rounds to nearest, ties to even
  }
}

TEST(ExactSum, AnyOrderAndAnyPartitionGiveTheSameBits) {
  std::vector<double> terms = mixed_terms(5000, 7);
  const double expected = value_of(terms);
  for (uint32_t seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    std::shuffle(terms.begin(), terms.end(), random);
    const auto cut = terms.begin() + 1 + random() % 4998;
    ExactSum whole = sum_of({terms.begin(), cut});
    whole.add(sum_of({cut, terms.end()}));
    EXPECT_EQ(whole.value(), expected);
  }
}

TEST(ExactSum, DigitsAreWhatOneTermAdds) {
  const ExactSum::Digits digits = ExactSum::digits_of(-3.0);
  ExactSum sum;
  sum.clear();
  for (int i = 0; i < 3; ++i) sum.limb[digits.first + i] += digits.part[i];
  EXPECT_EQ(sum.value(), -3.0);
}

}  // namespace
}  // namespace zero
