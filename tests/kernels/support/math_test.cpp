// Ranks: 1

#include "kernels/support/math.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace zero::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The distance between neighbouring floats at `value`.
double unit(double value) {
  const float size = float(std::max(std::abs(value), 0x1p-126));
  return std::ldexp(1.0, std::ilogb(size) - 23);
}

/// The largest error in units over every `stride`-th float of [first, last], patterns of one sign.
template <class F, class G>
double worst_units(float first, float last, uint32_t stride, const F& f, const G& reference) {
  double worst = 0;
  const uint32_t end = std::bit_cast<uint32_t>(last);
  for (uint32_t bits = std::bit_cast<uint32_t>(first); bits <= end; bits += stride) {
    const float x = std::bit_cast<float>(bits);
    const double expected = reference(double(x));
    worst = std::max(worst, std::abs(double(f(x)) - expected) / unit(expected));
  }
  return worst;
}

TEST(ExpF32, IsWithinElevenTenthsOfAUnit) {
  const auto exact = [](double x) { return std::exp(x); };
  EXPECT_LT(worst_units(0.0f, 88.72f, 997, exp_f32, exact), 1.1);
  EXPECT_LT(worst_units(-0.0f, -103.9f, 997, exp_f32, exact), 1.1);
}

TEST(ExpF32, EndsInZeroAndInfinity) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(88.73f), kInfinity);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_EQ(exp_f32(-104.5f), 0.0f);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0f);
  EXPECT_TRUE(std::isnan(exp_f32(kNaN)));
}

TEST(ExpNear, HasTheBitsOfExpWhereItIsAllowed) {
  const uint32_t end = std::bit_cast<uint32_t>(kLeastNear);
  EXPECT_EQ(exp_near_f32(0.0f), 1.0f);
  for (uint32_t bits = std::bit_cast<uint32_t>(-0.0f); bits <= end; bits += 997) {
    const float x = std::bit_cast<float>(bits);
    ASSERT_EQ(std::bit_cast<uint32_t>(exp_near_f32(x)), std::bit_cast<uint32_t>(exp_f32(x))) << x;
  }
  EXPECT_EQ(exp_near_f32(kLeastNear), exp_f32(kLeastNear));
}

TEST(LogF32, IsWithinElevenTenthsOfAUnit) {
  const auto exact = [](double x) { return std::log(x); };
  EXPECT_LT(worst_units(0x1p-149f, std::numeric_limits<float>::max(), 997, log_f32, exact), 1.1);
  EXPECT_LT(worst_units(0.99f, 1.01f, 1, log_f32, exact), 1.1);
}

TEST(LogF32, KnowsItsEnds) {
  EXPECT_EQ(log_f32(1.0f), 0.0f);
  EXPECT_EQ(log_f32(0.0f), -kInfinity);
  EXPECT_EQ(log_f32(-0.0f), -kInfinity);
  EXPECT_EQ(log_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log_f32(-1.0f)));
  EXPECT_TRUE(std::isnan(log_f32(-kInfinity)));
  EXPECT_TRUE(std::isnan(log_f32(kNaN)));
}

TEST(NormalF32, IsWithinFiveTenMillionthsOfItsSizeInBothTails) {
  const auto below = [](double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); };
  const auto density = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI); };
  double worst = 0;
  for (int i = -13'000'000; i <= 13'000'000; i += 7) {
    const float x = float(i) * 1e-6f;
    const Normal normal = normal_f32(x);
    worst = std::max(worst, std::abs(double(normal.below) / below(double(x)) - 1));
    worst = std::max(worst, std::abs(double(normal.density) / density(double(x)) - 1));
  }
  EXPECT_LT(worst, 5e-7);
}

TEST(NormalF32, KnowsItsEnds) {
  EXPECT_NEAR(normal_f32(0.0f).below, 0.5f, 3e-8f);
  for (float x : {15.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(normal_f32(x).below, 1.0f);
    EXPECT_EQ(normal_f32(-x).below, 0.0f);
    EXPECT_EQ(normal_f32(-x).density, 0.0f);
  }
  EXPECT_TRUE(std::isnan(normal_f32(kNaN).below));
  EXPECT_TRUE(std::isnan(normal_f32(kNaN).density));
}

}  // namespace
}  // namespace zero::kernels
