// Ranks: 1

#include "zero/kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/reference.hpp"
#include "zero/device/device.hpp"

namespace zero::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A function, its gradient, and both in double.
template <class T>
struct Function {
  Activation activation;
  double (*value)(double x);
  double (*slope)(double x);

  std::vector<T> of(const std::vector<T>& x, int threads = 1) const {
    Stream stream(threads);
    std::vector<T> y(x.size());
    activate(stream, activation, int64_t(x.size()), x.data(), y.data());
    stream.wait();
    return y;
  }
  std::vector<T> gradient_of(const std::vector<T>& x, const std::vector<T>& dy,
                             int threads = 1) const {
    Stream stream(threads);
    std::vector<T> dx(x.size());
    activate_backward<T>(stream, activation, int64_t(x.size()), {x.data(), dy.data(), dx.data()});
    stream.wait();
    return dx;
  }
};

template <class T>
const Function<T> kGelu = {Activation::gelu, testing::gelu, testing::gelu_slope};
template <class T>
const Function<T> kSquaredRelu = {Activation::squared_relu,
                                  [](double x) { return x > 0 ? x * x : 0.0; },
                                  [](double x) { return x > 0 ? 2 * x : 0.0; }};
template <class T>
const Function<T> kGeluErf = {Activation::gelu_erf, testing::gelu_erf, testing::gelu_erf_slope};
template <class T>
const Function<T> kRelu = {Activation::relu, [](double x) { return x > 0 ? x : 0.0; },
                           [](double x) { return x > 0 ? 1.0 : 0.0; }};
template <class T>
const Function<T> kClamp = {Activation::clamp, [](double x) { return x; },
                            [](double) { return 1.0; }};
template <class T>
const Function<T> kFunctions[] = {kGelu<T>, kSquaredRelu<T>, kGeluErf<T>, kRelu<T>, kClamp<T>};

template <class T>
class Elementwise : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Elementwise, Elements);

TYPED_TEST(Elementwise, IsTheFunctionOfEachElementRoundedOnce) {
  const auto x = noise<TypeParam>(5001, 1, 6.0);
  for (const Function<TypeParam>& function : kFunctions<TypeParam>) {
    const auto y = function.of(x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = function.value(float(x[i]));
      EXPECT_NEAR(float(y[i]), expected, 1.01 * rounding<TypeParam>() * std::abs(expected) + 2e-6);
    }
  }
}

TYPED_TEST(Elementwise, GradientIsTheSlopeTimesDy) {
  const auto x = noise<TypeParam>(5001, 1, 6.0), dy = noise<TypeParam>(5001, 2, 2.0);
  for (const Function<TypeParam>& function : kFunctions<TypeParam>) {
    const auto dx = function.gradient_of(x, dy);
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = function.slope(float(x[i])) * double(float(dy[i]));
      EXPECT_NEAR(float(dx[i]), expected, 1.01 * rounding<TypeParam>() * std::abs(expected) + 4e-6);
    }
  }
}

TYPED_TEST(Elementwise, SquaredReluIsExactToTheRounding) {
  const auto x = noise<TypeParam>(5001, 1, 6.0), dy = noise<TypeParam>(5001, 2, 2.0);
  const auto& function = kSquaredRelu<TypeParam>;
  const auto y = function.of(x), dx = function.gradient_of(x, dy);
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = function.value(float(x[i]));
    const double slope = function.slope(float(x[i])) * double(float(dy[i]));
    const double least = 3e-8;  // half of fp16's smallest number
    EXPECT_NEAR(float(y[i]), value, 1.01 * rounding<TypeParam>() * value + least);
    EXPECT_NEAR(float(dx[i]), slope, 1.01 * rounding<TypeParam>() * std::abs(slope) + least);
  }
}

TYPED_TEST(Elementwise, OneAndTwoThreadsGiveTheSameBits) {
  const auto x = noise<TypeParam>(10007, 3, 4.0), dy = noise<TypeParam>(10007, 4);
  for (const Function<TypeParam>& function : kFunctions<TypeParam>) {
    EXPECT_TRUE(same_bits(function.of(x, 1), function.of(x, 2)));
    EXPECT_TRUE(same_bits(function.gradient_of(x, dy, 1), function.gradient_of(x, dy, 2)));
  }
}

/// A GELU and its gradient of 8192 elements, on one thread.
template <class T>
class Timed {
 public:
  explicit Timed(const Function<T>& function) : function_(function) {}

  void run() {
    const auto start = std::chrono::steady_clock::now();
    activate(stream_, function_.activation, int64_t(x_.size()), x_.data(), y_.data());
    activate_backward<T>(stream_, function_.activation, int64_t(x_.size()),
                         {x_.data(), dy_.data(), y_.data()});
    stream_.wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least_ = std::min(least_, taken.count());
  }
  double least_seconds() const { return least_; }

 private:
  const Function<T>& function_;
  const std::vector<T> x_ = noise<T>(8192, 1, 4.0), dy_ = noise<T>(8192, 2);
  std::vector<T> y_ = x_;
  Stream stream_{1};
  double least_ = 1;
};

template <class T>
double times_of_fp32(const Function<T>& function, const Function<float>& in_fp32) {
  Timed<T> timed(function);
  Timed<float> fp32(in_fp32);
  for (int i = 0; i < 400; ++i) {
    timed.run();
    fp32.run();
  }
  return timed.least_seconds() / fp32.least_seconds();
}

template <class T>
void expect_no_slower_than_four_times_fp32() {
  EXPECT_LT(times_of_fp32(kGelu<T>, kGelu<float>), 4);
  EXPECT_LT(times_of_fp32(kGeluErf<T>, kGeluErf<float>), 4);
}

// A function of one element that is called, and not inlined, keeps its loop from vectorising: GELU
// in 16 bits took ten times as long.
TEST(ElementwiseSpeed, GeluIn16BitsTakesAtMostFourTimesAsLongAsInFp32) {
  if (drives_devices()) GTEST_SKIP() << "a GPU has no loops that vectorise";
  expect_no_slower_than_four_times_fp32<bf16>();
  expect_no_slower_than_four_times_fp32<f16>();
}

TYPED_TEST(Elementwise, GradientMayOverwriteDy) {
  const auto x = noise<TypeParam>(3000, 3, 4.0);
  for (const Function<TypeParam>& function : kFunctions<TypeParam>) {
    auto dy = noise<TypeParam>(3000, 4);
    const auto expected = function.gradient_of(x, dy);
    Stream stream(2);
    activate_backward<TypeParam>(stream, function.activation, 3000,
                                 {x.data(), dy.data(), dy.data()});
    stream.wait();
    EXPECT_TRUE(same_bits(dy, expected));
  }
}

TYPED_TEST(Elementwise, GeluErfKeepsItsDigitsInTheLowerTail) {
  std::vector<TypeParam> x;
  for (int i = 0; i < 500; ++i) x.push_back(TypeParam(-5.0f * float(i) / 500));
  const auto y = kGeluErf<TypeParam>.of(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = testing::gelu_erf(float(x[i]));
    EXPECT_NEAR(float(y[i]), expected, (1.01 * rounding<TypeParam>() + 5e-7) * -expected + 3e-8);
  }
}

TYPED_TEST(Elementwise, MultipliesElementByElementAlsoInPlace) {
  auto a = noise<TypeParam>(5001, 1, 6.0);
  const auto b = noise<TypeParam>(5001, 2, 2.0);
  std::vector<TypeParam> y(a.size());
  Stream stream(2);
  multiply(stream, 5001, a.data(), b.data(), y.data());
  stream.wait();
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(float(y[i]), float(TypeParam(float(a[i]) * float(b[i]))));
  multiply(stream, 5001, a.data(), b.data(), a.data());
  stream.wait();
  EXPECT_TRUE(same_bits(a, y));
}

TEST(ElementwiseValues, TheReferenceSlopeIsThatOfTheReference) {
  for (double x = -6; x <= 6; x += 0.01) {
    const double slope = (testing::gelu(x + 1e-5) - testing::gelu(x - 1e-5)) / 2e-5;
    EXPECT_NEAR(testing::gelu_slope(x), slope, 1e-9) << x;
    const double erf_slope = (testing::gelu_erf(x + 1e-5) - testing::gelu_erf(x - 1e-5)) / 2e-5;
    EXPECT_NEAR(testing::gelu_erf_slope(x), erf_slope, 1e-9) << x;
  }
}

TEST(ElementwiseValues, FarOutGeluIsTheLineOrZero) {
  const std::vector<float> x{20.0f, 1e30f, kInfinity, -20.0f, -1e30f};
  for (const Function<float>& function : {kGelu<float>, kGeluErf<float>}) {
    EXPECT_EQ(function.of(x), (std::vector<float>{20.0f, 1e30f, kInfinity, 0.0f, 0.0f}));
    const auto slope = function.gradient_of(x, std::vector<float>(5, 1.0f));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(slope[size_t(i)], 1.0f);
    for (int i = 3; i < 5; ++i) EXPECT_NEAR(slope[size_t(i)], 0.0f, 1e-30f);
  }
}

TEST(ElementwiseValues, ReluOfWhatIsNotPositiveIsZeroAndSoIsItsSlope) {
  const std::vector<float> x{-kInfinity, -2.0f, 0.0f, 3.0f};
  EXPECT_EQ(kRelu<float>.of(x), (std::vector<float>{0, 0, 0, 3}));
  EXPECT_EQ(kRelu<float>.gradient_of(x, {5, 5, 5, 5}), (std::vector<float>{0, 0, 0, 5}));
}

TEST(ElementwiseValues, ClampCutsWhatFp16CannotHold) {
  const std::vector<f16> x{f16(-kInfinity), f16(-64480.0f), f16(65504.0f), f16(kInfinity)};
  const auto y = kClamp<f16>.of(x);
  EXPECT_EQ(testing::doubles(y), (std::vector<double>{-64512, -64480, 64512, 64512}));
  const auto dx = kClamp<f16>.gradient_of(y, std::vector<f16>(4, f16(3.0f)));
  EXPECT_EQ(testing::doubles(dx), (std::vector<double>{0, 3, 0, 0}));
}

TEST(ElementwiseValues, SquaredReluOfWhatIsNotPositiveIsZero) {
  EXPECT_EQ(kSquaredRelu<float>.of({-1e30f, 0.0f}), (std::vector<float>{0, 0}));
}

TEST(ElementwiseValues, NaNAndOverflowSpread) {
  for (const Function<float>& function : kFunctions<float>) {
    EXPECT_TRUE(std::isnan(function.of({kNaN})[0]));
    EXPECT_TRUE(std::isnan(function.gradient_of({kNaN}, {1.0f})[0]));
    EXPECT_TRUE(std::isnan(function.gradient_of({1.0f}, {kNaN})[0]));
  }
  EXPECT_EQ(float(kGelu<f16>.gradient_of({f16(2.0f)}, {f16(65504.0f)})[0]), kInfinity);
  EXPECT_EQ(float(kSquaredRelu<f16>.of({f16(300.0f)})[0]), kInfinity);
}

}  // namespace
}  // namespace zero::kernels
