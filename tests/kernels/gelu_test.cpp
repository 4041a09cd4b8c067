// Ranks: 1

#include "zero/kernels/gelu.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/arrays.hpp"
#include "tests/support/reference.hpp"

namespace zero::kernels {
namespace {

using testing::doubles, testing::noise, testing::rounding, testing::same_bits;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> gelu_of(const std::vector<T>& x, int threads = 1) {
  Stream stream(threads);
  std::vector<T> y(x.size());
  gelu(stream, int64_t(x.size()), x.data(), y.data());
  stream.wait();
  return y;
}

template <class T>
std::vector<T> gelu_gradient_of(const std::vector<T>& x, const std::vector<T>& dy,
                                int threads = 1) {
  Stream stream(threads);
  std::vector<T> dx(x.size());
  gelu_backward(stream, int64_t(x.size()), x.data(), dy.data(), dx.data());
  stream.wait();
  return dx;
}

template <class T>
class Gelu : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Gelu, Elements);

TYPED_TEST(Gelu, IsTheTanhFormElementByElement) {
  const auto x = noise<TypeParam>(5001, 1, 6.0);
  const auto y = gelu_of(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = testing::gelu(float(x[i]));
    EXPECT_NEAR(float(y[i]), expected, 1.01 * rounding<TypeParam>() * std::abs(expected) + 2e-6);
  }
}

TYPED_TEST(Gelu, GradientIsTheSlopeTimesDy) {
  const auto x = noise<TypeParam>(5001, 1, 6.0), dy = noise<TypeParam>(5001, 2, 2.0);
  const auto dx = gelu_gradient_of(x, dy);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = testing::gelu_slope(float(x[i])) * double(float(dy[i]));
    EXPECT_NEAR(float(dx[i]), expected, 1.01 * rounding<TypeParam>() * std::abs(expected) + 4e-6);
  }
}

TYPED_TEST(Gelu, OneAndTwoThreadsGiveTheSameBits) {
  const auto x = noise<TypeParam>(10007, 3, 4.0), dy = noise<TypeParam>(10007, 4);
  EXPECT_TRUE(same_bits(gelu_of(x, 1), gelu_of(x, 2)));
  EXPECT_TRUE(same_bits(gelu_gradient_of(x, dy, 1), gelu_gradient_of(x, dy, 2)));
}

TYPED_TEST(Gelu, GradientMayOverwriteDy) {
  const auto x = noise<TypeParam>(3000, 3, 4.0);
  auto dy = noise<TypeParam>(3000, 4);
  const auto expected = gelu_gradient_of(x, dy);
  Stream stream(2);
  gelu_backward(stream, 3000, x.data(), dy.data(), dy.data());
  stream.wait();
  EXPECT_TRUE(same_bits(dy, expected));
}

TEST(GeluValues, TheReferenceSlopeIsThatOfTheReference) {
  for (double x = -6; x <= 6; x += 0.01) {
    const double slope = (testing::gelu(x + 1e-5) - testing::gelu(x - 1e-5)) / 2e-5;
    EXPECT_NEAR(testing::gelu_slope(x), slope, 1e-9) << x;
  }
}

TEST(GeluValues, FarOutItIsTheLineOrZero) {
  const std::vector<float> x{20.0f, 1e30f, kInfinity, -20.0f, -1e30f};
  const auto y = gelu_of(x);
  EXPECT_EQ(y[0], 20.0f);
  EXPECT_EQ(y[1], 1e30f);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[4], 0.0f);
  const auto slope = gelu_gradient_of(x, std::vector<float>(5, 1.0f));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slope[size_t(i)], 1.0f);
  for (int i = 3; i < 5; ++i) EXPECT_NEAR(slope[size_t(i)], 0.0f, 1e-30f);
}

TEST(GeluValues, NaNAndOverflowSpread) {
  EXPECT_TRUE(std::isnan(gelu_of(std::vector<float>{kNaN})[0]));
  EXPECT_TRUE(std::isnan(gelu_gradient_of<float>({kNaN}, {1.0f})[0]));
  EXPECT_TRUE(std::isnan(gelu_gradient_of<float>({1.0f}, {kNaN})[0]));
  EXPECT_EQ(float(gelu_gradient_of<f16>({f16(2.0f)}, {f16(65504.0f)})[0]), kInfinity);
}

}  // namespace
}  // namespace zero::kernels
