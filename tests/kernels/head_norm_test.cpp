// Ranks: 1

#include "zero/kernels/head_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/kernel_arrays.hpp"
#include "tests/support/norm_checks.hpp"
#include "tests/support/packed_norms.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

constexpr float kEpsilon = 1e-6f;

template <class T>
struct HeadNormCase : testing::PackedNorms<T> {
  using testing::PackedNorms<T>::PackedNorms;

  void run(int threads = 1) {
    Stream stream(threads);
    adopt_threads(stream);
    head_norm(stream, this->of, this->forward_arrays(kEpsilon));
    head_norm_backward(stream, this->of, this->backward_arrays());
    stream.wait();
  }
};

/// Heads of queries and of keys, per head and over all heads, of whole runs and of others.
constexpr HeadNormExtents kExtents[] = {
    {{.rows = 3, .heads = 2, .key_heads = 1, .head_width = 5}},
    {{.rows = 70, .heads = 9, .key_heads = 3, .head_width = 64}},
    {{.rows = 33, .heads = 4, .key_heads = 2, .head_width = 128}},
    {{.rows = 300, .heads = 2, .key_heads = 2, .head_width = 10}},
    {{.rows = 40, .heads = 4, .key_heads = 2, .head_width = 24}, true},
    {{.rows = 5, .heads = 3, .key_heads = 1, .head_width = 7}, true}};

template <class T>
class HeadNorm : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(HeadNorm, Elements);

TYPED_TEST(HeadNorm, ForwardAndBackwardAgreeWithDoubleLoops) {
  for (const HeadNormExtents& of : kExtents) {
    for (const float offset : {0.0f, 1.0f}) {
      HeadNormCase<TypeParam> c(of, offset);
      c.run();
      c.expect_doubles(kEpsilon);
    }
  }
}

TYPED_TEST(HeadNorm, ThreadsDoNotChangeABit) {
  for (const size_t extents : {size_t(1), size_t(4)}) {
    HeadNormCase<TypeParam> one(kExtents[extents], 1), two(kExtents[extents], 1);
    one.run(1);
    two.run(2);
    using Case = testing::PackedNorms<TypeParam>;
    testing::expect_same_arrays<Case, TypeParam>(one, two,
                                                 {&Case::y, &Case::dx, &Case::dquery, &Case::dkey});
  }
}

TYPED_TEST(HeadNorm, WritesInPlace) {
  HeadNormCase<TypeParam> c(kExtents[1], 0), other(kExtents[1], 0);
  c.run();
  Stream stream(2);
  adopt_threads(stream);
  auto backward = other.backward_arrays();
  backward.rrms = c.rrms.data();
  backward.dx = other.dy.data();
  head_norm_backward(stream, other.of, backward);
  auto forward = other.forward_arrays(kEpsilon);
  forward.y = other.x.data();
  head_norm(stream, other.of, forward);
  stream.wait();
  EXPECT_TRUE(same_bits(other.dy, c.dx));
  EXPECT_TRUE(same_bits(other.x, c.y));
}

TEST(HeadNormValues, HaveOneWeightForAllHeadsAndLeaveValues) {
  HeadNormCase<float> c({{.rows = 1, .heads = 2, .key_heads = 1, .head_width = 2}}, 1);
  c.x = {3, 3, -5, 5, 7, 7, 8, 9};
  c.query = {1, 2};
  c.key = {0, -1};
  c.run();
  const float expected[] = {2, 3, -2, 3, 1, 0, 8, 9};
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(c.y[i], expected[i], 1e-5f) << i;
}

TEST(HeadNormValues, RefusesRowsWithoutHeads) {
  HeadNormCase<float> c({{.rows = 1, .heads = 2, .key_heads = 1, .head_width = 2}}, 0);
  c.of.packed.rows = 0;
  EXPECT_THROW(c.run(), Error);
}

}  // namespace
}  // namespace zero::kernels
