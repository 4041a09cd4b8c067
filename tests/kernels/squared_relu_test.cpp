// Ranks: 1

#include "zero/kernels/squared_relu.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/arrays.hpp"

namespace zero::kernels {
namespace {

using testing::noise, testing::rounding, testing::same_bits;

template <class T>
std::vector<T> values_of(const std::vector<T>& x, int threads = 1) {
  Stream stream(threads);
  std::vector<T> y(x.size());
  squared_relu(stream, int64_t(x.size()), x.data(), y.data());
  stream.wait();
  return y;
}

template <class T>
std::vector<T> gradients_of(const std::vector<T>& x, const std::vector<T>& dy, int threads = 1) {
  Stream stream(threads);
  std::vector<T> dx(x.size());
  squared_relu_backward(stream, int64_t(x.size()), x.data(), dy.data(), dx.data());
  stream.wait();
  return dx;
}

template <class T>
class SquaredRelu : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(SquaredRelu, Elements);

TYPED_TEST(SquaredRelu, IsTheSquareOfWhatIsPositive) {
  const auto x = noise<TypeParam>(5001, 1, 6.0), dy = noise<TypeParam>(5001, 2, 2.0);
  const auto y = values_of(x), dx = gradients_of(x, dy);
  for (size_t i = 0; i < x.size(); ++i) {
    const double positive = std::max(double(float(x[i])), 0.0);
    const double square = positive * positive, slope = 2 * positive * double(float(dy[i]));
    const double least = 3e-8;  // half of fp16's smallest number
    EXPECT_NEAR(float(y[i]), square, 1.01 * rounding<TypeParam>() * square + least);
    EXPECT_NEAR(float(dx[i]), slope, 1.01 * rounding<TypeParam>() * std::abs(slope) + least);
  }
}

TYPED_TEST(SquaredRelu, OneAndTwoThreadsGiveTheSameBits) {
  const auto x = noise<TypeParam>(10007, 3, 4.0), dy = noise<TypeParam>(10007, 4);
  EXPECT_TRUE(same_bits(values_of(x, 1), values_of(x, 2)));
  EXPECT_TRUE(same_bits(gradients_of(x, dy, 1), gradients_of(x, dy, 2)));
}

TYPED_TEST(SquaredRelu, GradientMayOverwriteDy) {
  const auto x = noise<TypeParam>(3000, 3, 4.0);
  auto dy = noise<TypeParam>(3000, 4);
  const auto expected = gradients_of(x, dy);
  Stream stream(2);
  squared_relu_backward(stream, 3000, x.data(), dy.data(), dy.data());
  stream.wait();
  EXPECT_TRUE(same_bits(dy, expected));
}

TEST(SquaredReluValues, NaNAndOverflowSpread) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(values_of(std::vector<float>{kNaN})[0]));
  EXPECT_TRUE(std::isnan(gradients_of<float>({kNaN}, {1.0f})[0]));
  EXPECT_TRUE(std::isinf(float(values_of(std::vector<f16>{f16(300.0f)})[0])));
  EXPECT_EQ(values_of(std::vector<float>{-1e30f, 0.0f}), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace zero::kernels
