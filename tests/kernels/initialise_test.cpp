// Ranks: 1

#include "zero/kernels/initialise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "zero/base/philox.hpp"

namespace zero::kernels {
namespace {

constexpr uint64_t kSeed = 1234;
constexpr uint32_t kParameter = 7;

std::vector<float> normals(int64_t first, size_t count) {
  std::vector<float> values(count);
  initial_normals(kSeed, kParameter, first, values);
  return values;
}

TEST(InitialNormal, HasTheMomentsOfANormalDistribution) {
  constexpr size_t kCount = 1 << 20;  // so a mean strays by 1e-3
  double sum = 0, squares = 0, fourths = 0, beyond = 0;
  for (const double x : normals(0, kCount)) {
    sum += x / kCount;
    squares += x * x / kCount;
    fourths += x * x * x * x / kCount;
    beyond += std::abs(x) > 1.959964 ? 1.0 / kCount : 0.0;
  }
  EXPECT_NEAR(sum, 0.0, 5e-3);
  EXPECT_NEAR(squares, 1.0, 7e-3);
  EXPECT_NEAR(fourths, 3.0, 5e-2);
  EXPECT_NEAR(beyond, 0.05, 1.1e-3);
}

TEST(InitialNormal, NeighboursAreUncorrelated) {
  const std::vector<float> x = normals(0, 1 << 18);
  double products = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) products += double(x[i]) * double(x[i + 1]);
  EXPECT_NEAR(products / double(x.size()), 0.0, 1e-2);
}

TEST(InitialNormal, IsBoxMullerOfThePhiloxWords) {
  for (uint32_t pair = 0; pair < 1000; ++pair) {
    const PhiloxBlock random = philox({{pair, 0, kParameter, 0xffffffffu}}, kSeed);
    const double first = (random.word[0] + (random.word[1] + 0.5) * 0x1p-32) * 0x1p-32;
    const double second = (random.word[2] + 0.5) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(first));
    const double even = radius * std::cos(2 * M_PI * second);
    const double odd = radius * std::sin(2 * M_PI * second);
    EXPECT_NEAR(initial_normal(kSeed, kParameter, 2 * pair), even, 6e-8 * std::abs(even) + 1e-14);
    EXPECT_NEAR(initial_normal(kSeed, kParameter, 2 * pair + 1), odd, 6e-8 * std::abs(odd) + 1e-14);
  }
}

TEST(InitialNormal, AnyCutOfAParameterGivesTheSameBits) {
  const std::vector<float> whole = normals(0, 5000);
  for (const int64_t first : {1, 511, 512, 513, 2048, 4999}) {
    const std::vector<float> part = normals(first, size_t(std::min<int64_t>(5000 - first, 700)));
    for (size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(part[i], whole[size_t(first) + i]);
      EXPECT_EQ(part[i], initial_normal(kSeed, kParameter, first + int64_t(i)));
    }
  }
  const int64_t far = int64_t(1) << 36;
  EXPECT_EQ(normals(far + 1, 3)[2], initial_normal(kSeed, kParameter, far + 3));
}

TEST(InitialNormal, SeedParameterAndHighElementBitsMatter) {
  const float base = initial_normal(kSeed, kParameter, 10);
  EXPECT_NE(initial_normal(kSeed + 1, kParameter, 10), base);
  EXPECT_NE(initial_normal(kSeed, kParameter + 1, 10), base);
  EXPECT_NE(initial_normal(kSeed, kParameter, 10 + (int64_t(1) << 33)), base);
}

}  // namespace
}  // namespace zero::kernels
