// Ranks: 1

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/norm_checks.hpp"
#include "tests/support/rms_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {
namespace {

constexpr float kEpsilon = 1e-6f;

/// An RMS norm with all its arrays.
template <class T>
struct RmsNormCase {
  NormExtents extents;
  std::vector<T> x, weight, dy, add, y, dx, dweight;
  std::vector<float> rrms, scratch;
  float offset;

  explicit RmsNormCase(NormExtents e, float added = 0)
      : extents(e),
        x(noise<T>(e.rows * e.width, 1, 2.0)),
        weight(noise<T>(e.width, 2)),
        dy(noise<T>(e.rows * e.width, 4)),
        y(x.size()),
        dx(x.size()),
        dweight(weight.size()),
        rrms(size_t(e.rows)),
        scratch(size_t(rmsnorm_scratch_numel(e))),
        offset(added) {}

  RmsNormGradArrays<T> arrays() {
    const T* const added = add.empty() ? nullptr : add.data();
    return {dy.data(), x.data(),       weight.data(),  rrms.data(), added,
            dx.data(), dweight.data(), scratch.data(), offset};
  }
  void run(int threads) {
    Stream stream(threads);
    rmsnorm(stream, extents, kEpsilon,
            RmsNormArrays<T>{x.data(), weight.data(), y.data(), rrms.data(), offset});
    rmsnorm_backward(stream, extents, arrays());
    stream.wait();
  }
  testing::RmsNorm reference() const {
    auto added = doubles(weight);
    for (double& w : added) w += double(offset);
    return {size_t(extents.width), kEpsilon, doubles(x), added};
  }
};

template <class T>
class RmsNorm : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(RmsNorm, Elements);

TYPED_TEST(RmsNorm, ForwardAndBackwardAgreeWithDoubleLoops) {
  for (const NormExtents extents : {NormExtents{3, 5}, {70, 100}, {33, 768}, {300, 17}}) {
    RmsNormCase<TypeParam> c(extents);
    c.run(1);
    const auto gradients = c.reference().backward(doubles(c.dy));
    testing::expect_near<TypeParam>(c, c.reference().forward(), gradients);
  }
}

TYPED_TEST(RmsNorm, AddsAnOffsetToItsWeights) {
  RmsNormCase<TypeParam> c({70, 100}, 1);
  c.run(2);
  testing::expect_near<TypeParam>(c, c.reference().forward(),
                                  c.reference().backward(doubles(c.dy)));
}

TEST(RmsNormValues, KeepsTheSignsOfZeroWeights) {
  RmsNormCase<float> c({1, 2});
  c.x = {1, 1};
  c.weight = {0.0f, -0.0f};
  c.run(1);
  EXPECT_FALSE(std::signbit(c.y[0]));
  EXPECT_TRUE(std::signbit(c.y[1])) << "an offset of zero changes no bit";
}

TYPED_TEST(RmsNorm, AddJoinsDxBeforeTheOnlyRounding) {
  RmsNormCase<TypeParam> c({40, 96});
  c.add = noise<TypeParam>(40 * 96, 5);
  c.run(2);
  auto expected = c.reference().backward(doubles(c.dy)).dx;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += double(float(c.add[i]));
  EXPECT_LT(relative_error(c.dx, expected), rounding<TypeParam>() + 2e-6);
}

TYPED_TEST(RmsNorm, DxMayOverwriteDyOrAdd) {
  RmsNormCase<TypeParam> c({40, 96});
  c.add = noise<TypeParam>(40 * 96, 5);
  c.run(1);
  testing::expect_dx_in_place(c, [&](const RmsNormGradArrays<TypeParam>& arrays) {
    Stream stream(2);
    rmsnorm_backward(stream, c.extents, arrays);
    stream.wait();
  });
}

TYPED_TEST(RmsNorm, ThreadsDoNotChangeABit) {
  RmsNormCase<TypeParam> one({333, 200}), two({333, 200});
  one.run(1);
  two.run(2);
  using Case = RmsNormCase<TypeParam>;
  testing::expect_same_arrays<Case, TypeParam>(one, two, {&Case::y, &Case::dx, &Case::dweight});
}

TEST(RmsNormValues, DividesByTheRootOfTheMeanSquare) {
  RmsNormCase<float> c({1, 4});
  c.x = {1, 7, -1, 7};  // squares of 25 on average
  c.weight = {5, 5, 10, 0};
  c.run(1);
  EXPECT_NEAR(c.rrms[0], 0.2f, 1e-6f);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(c.y[j], (std::vector<float>{1, 7, -2, 0}[j]), 1e-5f) << j;
}

TEST(RmsNormValues, NaNStaysInItsRowButReachesTheGradientOfTheWeight) {
  RmsNormCase<float> c({3, 8});
  c.x[8] = std::numeric_limits<float>::quiet_NaN();
  c.run(1);
  for (size_t j = 0; j < 8; ++j) {
    EXPECT_TRUE(std::isfinite(c.y[j]));
    EXPECT_TRUE(std::isnan(c.y[8 + j]));
    EXPECT_TRUE(std::isnan(c.dx[8 + j]));
    EXPECT_TRUE(std::isnan(c.dweight[j]));
  }
}

TEST(RmsNormValues, RefusesEmptyRows) {
  Stream stream(1);
  EXPECT_THROW(rmsnorm(stream, {1, 0}, kEpsilon, RmsNormArrays<float>{}), Error);
  EXPECT_THROW(rmsnorm_backward(stream, {0, 4}, RmsNormGradArrays<float>{}), Error);
}

TEST(RmsNormReference, ItsGradientIsThatOfFiniteDifferences) {
  const testing::RmsNorm norm{5, 1e-6, doubles(noise<float>(15, 1)), doubles(noise<float>(5, 2))};
  const testing::Doubles dy = doubles(noise<float>(15, 4));
  const auto gradients = norm.backward(dy);
  const auto check = [&](testing::Doubles testing::RmsNorm::*member,
                         const testing::Doubles& expected) {
    const auto loss = [&](const testing::Doubles& at) {
      testing::RmsNorm moved = norm;
      moved.*member = at;
      return testing::dot(moved.forward(), dy);
    };
    const testing::Doubles slope = testing::finite_differences(loss, norm.*member);
    for (size_t i = 0; i < slope.size(); ++i) EXPECT_NEAR(expected[i], slope[i], 1e-7);
  };
  check(&testing::RmsNorm::x, gradients.dx);
  check(&testing::RmsNorm::weight, gradients.dweight);
}

}  // namespace
}  // namespace zero::kernels
