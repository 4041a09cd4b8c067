// Ranks: 1

#include "zero/kernels/layernorm.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/norm_checks.hpp"
#include "tests/support/reference.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

constexpr float kEpsilon = 1e-5f;

/// A layer norm with all its arrays.
template <class T>
struct LayerNormCase {
  NormExtents extents;
  std::vector<T> x, weight, bias, dy, add;
  std::vector<T> y, dx, dweight, dbias, dx_sum;
  std::vector<float> mean, rstd, scratch;

  explicit LayerNormCase(NormExtents e, double offset = 0)
      : extents(e),
        x(noise<T>(e.rows * e.width, 1, 2.0)),
        weight(noise<T>(e.width, 2)),
        bias(noise<T>(e.width, 3)),
        dy(noise<T>(e.rows * e.width, 4)),
        y(x.size()),
        dx(x.size()),
        dweight(weight.size()),
        dbias(weight.size()),
        mean(size_t(e.rows)),
        rstd(size_t(e.rows)),
        scratch(size_t(layernorm_scratch_numel(e, true))) {
    for (T& value : x) value = T(float(value) + float(offset));
  }

  LayerNormGradArrays<T> arrays() {
    return {dy.data(),
            x.data(),
            weight.data(),
            mean.data(),
            rstd.data(),
            add.empty() ? nullptr : add.data(),
            dx.data(),
            dweight.data(),
            dbias.data(),
            scratch.data(),
            dx_sum.empty() ? nullptr : dx_sum.data()};
  }
  void run(int threads) {
    Stream stream(threads);
    layernorm(stream, extents, kEpsilon,
              LayerNormArrays<T>{x.data(), weight.data(), bias.data(), y.data(), mean.data(),
                                 rstd.data()});
    layernorm_backward(stream, extents, arrays());
    stream.wait();
  }

  testing::Norm reference() const {
    return {size_t(extents.width), kEpsilon, doubles(x), doubles(weight), doubles(bias)};
  }
};

template <class T>
class LayerNorm : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(LayerNorm, Elements);

TYPED_TEST(LayerNorm, ForwardAndBackwardAgreeWithDoubleLoops) {
  for (const NormExtents extents : {NormExtents{1, 1}, {3, 5}, {70, 100}, {33, 768}, {300, 17}}) {
    LayerNormCase<TypeParam> c(extents);
    c.run(1);
    const testing::Norm reference = c.reference();
    const auto gradients = reference.backward(doubles(c.dy));
    const double tolerance = rounding<TypeParam>() + 2e-6;
    if (extents.width > 1) {
      EXPECT_LT(relative_error(c.y, reference.forward()), tolerance);
      EXPECT_LT(relative_error(c.dx, gradients.dx), tolerance);
      EXPECT_LT(relative_error(c.dweight, gradients.dweight), tolerance);
    } else {  // a row of one number has no spread: y is the bias and nothing flows back
      EXPECT_EQ(float(c.y[0]), float(c.bias[0]));
      EXPECT_EQ(float(c.dx[0]), 0.0f);
    }
    EXPECT_LT(relative_error(c.dbias, gradients.dbias), tolerance);
  }
}

TYPED_TEST(LayerNorm, AddJoinsDxBeforeTheOnlyRounding) {
  LayerNormCase<TypeParam> c({40, 96});
  c.add = noise<TypeParam>(40 * 96, 5);
  c.run(2);
  auto expected = c.reference().backward(doubles(c.dy)).dx;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += double(float(c.add[i]));
  EXPECT_LT(relative_error(c.dx, expected), rounding<TypeParam>() + 2e-6);
}

TYPED_TEST(LayerNorm, AddsTheColumnsOfDxAsAColumnSumDoes) {
  for (const NormExtents extents : {NormExtents{1, 4}, {7, 9}, {300, 96}, {333, 17}}) {
    LayerNormCase<TypeParam> c(extents);
    c.dx_sum.resize(c.weight.size());
    c.run(2);
    auto expected = c.dx_sum;
    std::vector<float> scratch(size_t(column_sum_scratch_numel(extents.rows, extents.width)));
    Stream stream(1);
    column_sum(stream, extents.rows, extents.width, c.dx.data(), expected.data(), scratch.data());
    stream.wait();
    if (order_of_sums() == 1)
      EXPECT_TRUE(same_bits(c.dx_sum, expected));
    else
      EXPECT_LT(relative_error(c.dx_sum, doubles(expected)), rounding<TypeParam>() + 2e-6);
  }
}

TYPED_TEST(LayerNorm, DxMayOverwriteDyOrAdd) {
  LayerNormCase<TypeParam> c({40, 96});
  c.add = noise<TypeParam>(40 * 96, 5);
  c.dx_sum.resize(c.weight.size());
  c.run(1);
  testing::expect_dx_in_place(c, [&](const LayerNormGradArrays<TypeParam>& arrays) {
    Stream stream(2);
    layernorm_backward(stream, c.extents, arrays);
    stream.wait();
  });
}

TYPED_TEST(LayerNorm, ThreadsDoNotChangeABit) {
  LayerNormCase<TypeParam> one({333, 200}), two({333, 200});
  one.run(1);
  two.run(2);
  using Case = LayerNormCase<TypeParam>;
  testing::expect_same_arrays<Case, TypeParam>(one, two,
                                               {&Case::y, &Case::dx, &Case::dweight, &Case::dbias});
}

TEST(LayerNormValues, ALargeOffsetDoesNotCancel) {
  // 2048 + {-1.5 ... 1.5}: the sum of squares in fp32 would lose every digit of the variance.
  LayerNormCase<float> c({8, 64}, 2048.0);
  c.run(1);
  EXPECT_LT(relative_error(c.y, c.reference().forward()), 1e-4);
}

TEST(LayerNormValues, KeepsMeanAndInverseDeviation) {
  LayerNormCase<float> c({1, 4});
  c.x = {1, 3, 1, 3};
  c.run(1);
  EXPECT_EQ(c.mean[0], 2.0f);
  EXPECT_NEAR(c.rstd[0], 1.0f, 1e-5f);
}

TEST(LayerNormValues, NaNStaysInItsRowButReachesEveryParameterGradient) {
  LayerNormCase<float> c({3, 8});
  c.x[8] = std::numeric_limits<float>::quiet_NaN();
  c.run(1);
  for (int j = 0; j < 8; ++j) {
    EXPECT_TRUE(std::isfinite(c.y[size_t(j)]));
    EXPECT_TRUE(std::isnan(c.y[size_t(8 + j)]));
    EXPECT_TRUE(std::isnan(c.dx[size_t(8 + j)]));
    EXPECT_TRUE(std::isnan(c.dweight[size_t(j)]));
    EXPECT_TRUE(std::isfinite(c.dbias[size_t(j)]));
  }
}

TEST(LayerNormValues, RefusesEmptyRows) {
  Stream stream(1);
  EXPECT_THROW(layernorm(stream, {1, 0}, kEpsilon, LayerNormArrays<float>{}), Error);
  EXPECT_THROW(layernorm_backward(stream, {0, 4}, LayerNormGradArrays<float>{}), Error);
}

TEST(LayerNormReference, ItsGradientIsThatOfFiniteDifferences) {
  const testing::Norm norm{5, 1e-5, doubles(noise<float>(15, 1)), doubles(noise<float>(5, 2)),
                           doubles(noise<float>(5, 3))};
  const testing::Doubles dy = doubles(noise<float>(15, 4));
  const auto gradients = norm.backward(dy);
  const auto check = [&](testing::Doubles testing::Norm::*member,
                         const testing::Doubles& expected) {
    const auto loss = [&](const testing::Doubles& at) {
      testing::Norm moved = norm;
      moved.*member = at;
      return testing::dot(moved.forward(), dy);
    };
    const testing::Doubles slope = testing::finite_differences(loss, norm.*member);
    for (size_t i = 0; i < slope.size(); ++i) EXPECT_NEAR(expected[i], slope[i], 1e-7);
  };
  check(&testing::Norm::x, gradients.dx);
  check(&testing::Norm::weight, gradients.dweight);
  check(&testing::Norm::bias, gradients.dbias);
}

}  // namespace
}  // namespace zero::kernels
