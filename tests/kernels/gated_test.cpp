// Ranks: 1

#include "zero/kernels/gated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

constexpr Gate kGates[] = {Gate::silu, Gate::gelu_tanh};

double silu(double x) { return x / (1 + std::exp(-x)); }
double silu_slope(double x) {
  const double open = 1 / (1 + std::exp(-x));
  return open * (1 + x * (1 - open));
}
double act(Gate gate, double x) { return gate == Gate::silu ? silu(x) : testing::gelu(x); }
double slope(Gate gate, double x) {
  return gate == Gate::silu ? silu_slope(x) : testing::gelu_slope(x);
}

template <class T>
std::vector<T> of(Gate gate, const GatedExtents& extents, const std::vector<T>& x,
                  int threads = 1) {
  Stream stream(threads);
  adopt_threads(stream);
  std::vector<T> y(size_t(extents.rows * extents.width));
  gated(stream, gate, extents, x.data(), y.data());
  stream.wait();
  return y;
}

template <class T>
std::vector<T> gradient_of(Gate gate, const GatedExtents& extents, const std::vector<T>& x,
                           const std::vector<T>& dy, int threads = 1) {
  Stream stream(threads);
  adopt_threads(stream);
  std::vector<T> dx(x.size());
  gated_backward<T>(stream, gate, extents, {x.data(), dy.data(), dx.data()});
  stream.wait();
  return dx;
}

/// Whole runs, and widths that no vector divides.
constexpr GatedExtents kExtents[] = {{1, 1}, {3, 7}, {40, 96}, {17, 77}, {5, 1000}};

template <class T>
class Gated : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Gated, Elements);

TYPED_TEST(Gated, IsTheActivationOfTheGateTimesWhatItOpens) {
  using T = TypeParam;
  for (const GatedExtents& extents : kExtents) {
    const auto x = noise<T>(extents.rows * extents.width * 2, 1, 6.0);
    for (const Gate gate : kGates) {
      const auto y = of(gate, extents, x);
      for (int64_t i = 0; i < int64_t(y.size()); ++i) {
        const size_t at = size_t(i / extents.width * 2 * extents.width + i % extents.width);
        const double up = float(x[at + size_t(extents.width)]);
        const double expected = act(gate, float(x[at])) * up;
        ASSERT_NEAR(float(y[size_t(i)]), expected,
                    1.01 * rounding<T>() * std::abs(expected) + 4e-6);
      }
    }
  }
}

TYPED_TEST(Gated, HasTheGradientOfDoubleLoops) {
  using T = TypeParam;
  for (const GatedExtents& extents : kExtents) {
    const auto x = noise<T>(extents.rows * extents.width * 2, 1, 6.0);
    const auto dy = noise<T>(extents.rows * extents.width, 2, 2.0);
    for (const Gate gate : kGates) {
      const auto dx = gradient_of(gate, extents, x, dy);
      for (int64_t i = 0; i < int64_t(dy.size()); ++i) {
        const size_t g = size_t(i / extents.width * 2 * extents.width + i % extents.width);
        const size_t u = g + size_t(extents.width);
        const double d = float(dy[size_t(i)]), at = float(x[g]);
        const double dgate = d * float(x[u]) * slope(gate, at), dup = d * act(gate, at);
        const double least = dtype_of<T>() == Dtype::f32 ? 8e-6 : 1e-5;
        ASSERT_NEAR(float(dx[g]), dgate, 1.01 * rounding<T>() * std::abs(dgate) + least);
        ASSERT_NEAR(float(dx[u]), dup, 1.01 * rounding<T>() * std::abs(dup) + least);
      }
    }
  }
}

TYPED_TEST(Gated, GivesTheSameBitsInPlaceAndByTwoThreads) {
  using T = TypeParam;
  for (const Gate gate : kGates) {
    auto x = noise<T>(40 * 96 * 2, 1, 6.0);
    const auto dy = noise<T>(40 * 96, 2);
    EXPECT_TRUE(same_bits(of(gate, {40, 96}, x, 1), of(gate, {40, 96}, x, 2)));
    const auto dx = gradient_of(gate, {40, 96}, x, dy);
    Stream stream(2);
    adopt_threads(stream);
    gated_backward<T>(stream, gate, {40, 96}, {x.data(), dy.data(), x.data()});
    stream.wait();
    EXPECT_TRUE(same_bits(x, dx));
  }
}

TEST(GatedValues, FarOutAGateIsOpenOrShut) {
  const float up = 3;
  for (const Gate gate : kGates) {
    const std::vector<float> x{200, -200, 1e30f, -1e30f, up, up, 1, 1};
    EXPECT_EQ(of(gate, {1, 4}, x), (std::vector<float>{600, 0, 1e30f, 0}));
    const auto dx = gradient_of(gate, {1, 4}, x, std::vector<float>(4, 1.0f));
    const float expected[] = {up, 0, 1, 0, 200, 0, 1e30f, 0};
    for (size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], expected[i], 1e-30f) << i;
  }
}

TEST(GatedValues, SiluKeepsItsDigitsInTheLowerTail) {
  for (float x = -80; x < -1; x += 0.37f) {
    const float y = of(Gate::silu, {1, 1}, std::vector<float>{x, 1})[0];
    EXPECT_NEAR(y, silu(x), 5e-7 * -silu(x));
    const float dx = gradient_of(Gate::silu, {1, 1}, std::vector<float>{x, 1}, {1.0f})[0];
    EXPECT_NEAR(dx, silu_slope(x), 2e-6 * std::abs(silu_slope(x)) + 2e-7) << x;
  }
}

TEST(GatedValues, NaNSpreads) {
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const Gate gate : kGates) {
    EXPECT_TRUE(std::isnan(of(gate, {1, 1}, std::vector<float>{kNaN, 1})[0]));
    EXPECT_TRUE(std::isnan(of(gate, {1, 1}, std::vector<float>{1, kNaN})[0]));
    const auto dx = gradient_of(gate, {1, 1}, std::vector<float>{1, 1}, {kNaN});
    EXPECT_TRUE(std::isnan(dx[0]) && std::isnan(dx[1]));
  }
}

TEST(GatedValues, RefusesEmptyRows) {
  EXPECT_THROW(of(Gate::silu, {0, 4}, std::vector<float>{}), Error);
}

}  // namespace
}  // namespace zero::kernels
