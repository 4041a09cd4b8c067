// Ranks: 1

#include "kernels/support/norm_grad_rows.hpp"

#include <gtest/gtest.h>

#include "tests/support/device_block.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"
#include "tests/support/rms_reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;

constexpr float kGradEpsilon = 1e-5f;

/// Runs `code` as every thread of every block, the last block first.
template <class Code>
void run_chunks(const Code& code) {
  for (int64_t index = code.shape.chunks - 1; index >= 0; --index) {
    testing::HostBlock(index, code.shape.threads(), code.shared_numel(),
                       [&](const testing::HostBlockThread& block) { code(block); })
        .run();
  }
}

/// The gradient of a layer norm, or an RMS norm with `mean` 0, and its sums a chunk.
template <class T>
struct GradientCase {
  NormGradShape shape;
  std::vector<T> x, weight, dy, add, dx;
  std::vector<float> mean, rstd, scratch;
  bool sums_dx = true;

  explicit GradientCase(const NormGradShape& s, bool centred = true)
      : shape(s),
        x(noise<T>(numel(), 1, 2.0)),
        weight(noise<T>(s.width, 2)),
        dy(noise<T>(numel(), 4)),
        add(noise<T>(numel(), 5)),
        dx(poisoned<T>(numel())),
        mean(size_t(s.rows)),
        rstd(size_t(s.rows)),
        scratch(poisoned<float>(int64_t(s.chunks) * 3 * s.width)) {
    const std::vector<double> wide = doubles(x);
    for (size_t r = 0; r < rstd.size(); ++r) {
      double sum = 0, squares = 0;
      const size_t width = size_t(s.width);
      for (size_t j = 0; j < width; ++j) sum += wide[r * width + j];
      const double middle = centred ? sum / double(width) : 0.0;
      for (size_t j = 0; j < width; ++j)
        squares += (wide[r * width + j] - middle) * (wide[r * width + j] - middle);
      mean[r] = float(middle);
      rstd[r] = float(1 / std::sqrt(squares / double(width) + kGradEpsilon));
    }
  }

  int64_t numel() const { return int64_t(shape.rows) * shape.width; }

  LayerNormGradArrays<T> arrays(bool centred = true) {
    return {dy.data(),
            x.data(),
            weight.data(),
            centred ? mean.data() : nullptr,
            rstd.data(),
            add.empty() ? nullptr : add.data(),
            dx.data(),
            nullptr,
            nullptr,
            scratch.data(),
            sums_dx ? dx.data() : nullptr};
  }

  template <bool kCentred = true>
  void run() {
    run(arrays(kCentred), std::bool_constant<kCentred>());
  }
  template <bool kCentred = true>
  void run(const LayerNormGradArrays<T>& of, std::bool_constant<kCentred> = {}) const {
    if (shape.runs == 2)
      run_chunks(NormGradRows<T, 2, kCentred>{shape, of});
    else
      run_chunks(NormGradRows<T, 3, kCentred>{shape, of});
  }

  /// Sums of chunk c, of vector v of `vectors`.
  std::vector<float> sums(int64_t c, int v, int vectors) const {
    const auto first = scratch.begin() + (c * vectors + v) * shape.width;
    return {first, first + shape.width};
  }
  std::vector<double> total(int v, int vectors) const {
    std::vector<double> sum(size_t(shape.width));
    for (int64_t c = 0; c < shape.chunks; ++c) {
      const std::vector<float> part = sums(c, v, vectors);
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += double(part[j]);
    }
    return sum;
  }

  /// A group adds its rows in order, then the groups add in order.
  template <class F>
  std::vector<float> in_order(int64_t c, const F& add_row) const {
    std::vector<float> sum;
    const Interval rows = shape.rows_of(c);
    for (int group = 0; group < shape.groups; ++group) {
      std::vector<float> of_group(size_t(shape.width), 0.0f);
      for (int64_t r = rows.begin + group; r < rows.end; r += shape.groups)
        for (int64_t j = 0; j < shape.width; ++j)
          add_row(size_t(r), r * shape.width + j, of_group[size_t(j)]);
      if (sum.empty()) sum = std::vector<float>(of_group.size(), 0.0f);
      for (size_t j = 0; j < sum.size(); ++j)
        sum[j] = group == 0 ? of_group[j] : sum[j] + of_group[j];
    }
    return sum;
  }
};

constexpr NormGradShape kShapes[] = {
    {.rows = 3, .width = 8, .chunks = 2, .runs = 2, .warps = 1, .groups = 1},
    {.rows = 40, .width = 256, .chunks = 3, .runs = 3, .warps = 1, .groups = 2},
    {.rows = 33, .width = 768, .chunks = 2, .runs = 3, .warps = 1, .groups = 4},
    {.rows = 29, .width = 520, .chunks = 2, .runs = 2, .warps = 2, .groups = 3},
    {.rows = 9, .width = 1600, .chunks = 2, .runs = 2, .warps = 4, .groups = 1},
    {.rows = 14, .width = 1280, .chunks = 3, .runs = 3, .warps = 2, .groups = 1},
    {.rows = 2, .width = 2304, .chunks = 1, .runs = 3, .warps = 3, .groups = 1}};

template <class T>
class NormGrad : public ::testing::Test {};
using GradElements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(NormGrad, GradElements);

TYPED_TEST(NormGrad, OfLayerNormAgreesWithDoubleLoops) {
  for (const NormGradShape& shape : kShapes) {
    SCOPED_TRACE(text(shape.rows, " x ", shape.width));
    GradientCase<TypeParam> c(shape);
    c.run();
    const testing::Norm reference{size_t(shape.width), kGradEpsilon, doubles(c.x),
                                  doubles(c.weight), std::vector<double>(size_t(shape.width))};
    auto expected = reference.backward(doubles(c.dy));
    for (size_t i = 0; i < c.add.size(); ++i) expected.dx[i] += double(float(c.add[i]));
    const double tolerance = rounding<TypeParam>() + 2e-6;
    EXPECT_LT(relative_error(c.dx, expected.dx), tolerance);
    EXPECT_LT(testing::relative_error(c.total(0, 3), expected.dweight), 2e-6);
    EXPECT_LT(testing::relative_error(c.total(1, 3), expected.dbias), 2e-6);
  }
}

TYPED_TEST(NormGrad, OfRmsNormAgreesWithDoubleLoops) {
  for (const NormGradShape& shape : kShapes) {
    SCOPED_TRACE(text(shape.rows, " x ", shape.width));
    GradientCase<TypeParam> c(shape, false);
    c.sums_dx = false;
    c.template run<false>();
    const testing::RmsNorm reference{size_t(shape.width), kGradEpsilon, doubles(c.x),
                                     doubles(c.weight)};
    auto expected = reference.backward(doubles(c.dy));
    for (size_t i = 0; i < c.add.size(); ++i) expected.dx[i] += double(float(c.add[i]));
    EXPECT_LT(relative_error(c.dx, expected.dx), rounding<TypeParam>() + 2e-6);
    EXPECT_LT(testing::relative_error(c.total(0, 1), expected.dweight), 2e-6);
  }
}

TYPED_TEST(NormGrad, AddsRowsOfAChunkInOrder) {
  for (const NormGradShape& shape : kShapes) {
    SCOPED_TRACE(text(shape.rows, " x ", shape.width));
    GradientCase<TypeParam> c(shape);
    c.run();
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const auto dweight = c.in_order(chunk, [&](size_t r, int64_t i, float& sum) {
        const float xhat = (float(c.x[size_t(i)]) - c.mean[r]) * c.rstd[r];
        sum = std::fma(float(c.dy[size_t(i)]), xhat, sum);
      });
      const auto dbias =
          c.in_order(chunk, [&](size_t, int64_t i, float& sum) { sum += float(c.dy[size_t(i)]); });
      const auto dx =
          c.in_order(chunk, [&](size_t, int64_t i, float& sum) { sum += float(c.dx[size_t(i)]); });
      EXPECT_TRUE(same_bits(c.sums(chunk, 0, 3), dweight));
      EXPECT_TRUE(same_bits(c.sums(chunk, 1, 3), dbias));
      EXPECT_TRUE(same_bits(c.sums(chunk, 2, 3), dx));
    }
  }
}

TYPED_TEST(NormGrad, OfTwoRunsAThreadAddsColumnsInTheOrderOfThree) {
  const NormGradShape by_two{
      .rows = 20, .width = 1320, .chunks = 2, .runs = 2, .warps = 3, .groups = 1};
  NormGradShape by_three = by_two;
  by_three.runs = 3, by_three.warps = 2;
  GradientCase<TypeParam> two(by_two), three(by_three);
  two.add.clear(), three.add.clear();
  two.run(), three.run();
  for (int64_t chunk = 0; chunk < 2; ++chunk) {
    EXPECT_TRUE(same_bits(two.sums(chunk, 0, 3), three.sums(chunk, 0, 3)));
    EXPECT_TRUE(same_bits(two.sums(chunk, 1, 3), three.sums(chunk, 1, 3)));
  }
  EXPECT_LT(relative_error(three.dx, doubles(two.dx)), rounding<TypeParam>() + 2e-6);
}

TYPED_TEST(NormGrad, WritesDxWhereDyOrWhatIsAddedLay) {
  for (const NormGradShape& shape : kShapes) {
    SCOPED_TRACE(text(shape.rows, " x ", shape.width));
    GradientCase<TypeParam> apart(shape), over_dy(shape), over_add(shape);
    apart.run();
    const auto in_place = [&](GradientCase<TypeParam>& c, std::vector<TypeParam>& target) {
      LayerNormGradArrays<TypeParam> arrays = c.arrays();
      arrays.dx = arrays.dx_sum = target.data();
      c.run(arrays);
      EXPECT_TRUE(same_bits(target, apart.dx));
      EXPECT_TRUE(same_bits(c.scratch, apart.scratch));
    };
    in_place(over_dy, over_dy.dy);
    in_place(over_add, over_add.add);
  }
}

TYPED_TEST(NormGrad, LeavesTheColumnsOfDxWhereNobodyAsks) {
  const NormGradShape shape{
      .rows = 30, .width = 40, .chunks = 2, .runs = 2, .warps = 1, .groups = 1};
  GradientCase<TypeParam> with(shape), without(shape);
  without.sums_dx = false;
  with.run(), without.run();
  EXPECT_TRUE(same_bits(with.dx, without.dx));
  for (int64_t chunk = 0; chunk < 2; ++chunk) {
    EXPECT_TRUE(same_bits(with.sums(chunk, 0, 3), without.sums(chunk, 0, 2)));
    EXPECT_TRUE(same_bits(with.sums(chunk, 1, 3), without.sums(chunk, 1, 2)));
  }
}

TEST(NormGradShape, CutsRowsIntoChunksThatDifferByOneAtMost) {
  const NormGradShape shape{
      .rows = 103, .width = 8, .chunks = 10, .runs = 2, .warps = 1, .groups = 1};
  int64_t next = 0;
  for (int64_t c = 0; c < 10; ++c) {
    const Interval rows = shape.rows_of(c);
    EXPECT_EQ(rows.begin, next);
    EXPECT_TRUE(rows.end - rows.begin == 10 || rows.end - rows.begin == 11);
    next = rows.end;
  }
  EXPECT_EQ(next, 103);
}

TEST(NormGradShape, LeavesFewThreadsIdleAndFillsAGpuOnce) {
  const auto expect = [](NormExtents extents, int runs, int warps, int groups, int chunks) {
    SCOPED_TRACE(text(extents.rows, " x ", extents.width));
    const NormGradShape shape = norm_grad_shape(extents);
    EXPECT_EQ(shape.runs, runs);
    EXPECT_EQ(shape.warps, warps);
    EXPECT_EQ(shape.groups, groups);
    EXPECT_EQ(shape.chunks, chunks);
  };
  // A multiprocessor holds 16 warps whose threads have two runs, or 12 with three.
  expect({16384, 1600}, 2, 4, 1, 132 * 4);
  expect({65536, 768}, 3, 1, 4, 132 * 3);
  expect({32768, 1280}, 3, 2, 1, 132 * 6);
  expect({32768, 1024}, 2, 2, 1, 1024);
  expect({16384, 4096}, 2, 8, 1, 132 * 2);
  expect({1, 8}, 2, 1, 4, 1);
  expect({33, 512}, 2, 1, 4, 3);
  expect({9, 1600}, 2, 4, 1, 3);
}

/// Whether a block computes such rows of these elements.
template <class T>
bool fits(int64_t width) {
  const NormGradShape shape = norm_grad_shape({64, width});
  const LayerNormGradArrays<T> arrays{};
  return shape.runs == 2 ? NormGradRows<T, 2, true>{shape, arrays}.fits()
                         : NormGradRows<T, 3, true>{shape, arrays}.fits();
}

TEST(NormGradShape, FitsWhereABlockHasThreadsAndMemory) {
  for (int64_t width = 8; width <= 9216; width += 8) EXPECT_TRUE(fits<bf16>(width)) << width;
  EXPECT_FALSE(fits<bf16>(9224));
  for (int64_t width = 8; width <= 5632; width += 8) EXPECT_TRUE(fits<float>(width)) << width;
  EXPECT_FALSE(fits<float>(5640));
}

}  // namespace
}  // namespace zero::kernels
