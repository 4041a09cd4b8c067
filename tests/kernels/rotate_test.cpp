// Ranks: 1

#include "zero/kernels/rotate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/kernel_arrays.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

/// A rotation with all its arrays. Both tables hold noise, so no error of a place cancels.
template <class T>
struct RotateCase {
  RotateExtents of;
  std::vector<T> x, y;
  std::vector<float> queries, keys;
  std::vector<int32_t> first;

  explicit RotateCase(const RotateExtents& extents)
      : of(extents),
        x(noise<T>(of.packed.rows * of.packed.columns(), 1, 2.0)),
        y(x.size()),
        queries(noise<float>(of.positions * 2 * of.pairs, 2)),
        keys(noise<float>(of.positions * 2 * of.pairs, 3)) {}

  RotateArrays<T> arrays() {
    return {.x = x.data(),
            .query_table = queries.data(),
            .key_table = keys.data(),
            .first = first.empty() ? nullptr : first.data(),
            .chunk = nullptr,
            .rows = nullptr,
            .y = y.data()};
  }
  int64_t position(int64_t row) const {
    return row % of.length - (first.empty() ? 0 : first[size_t(row)]);
  }
  void run(bool back = false, int threads = 1) {
    Stream stream(threads);
    adopt_threads(stream);
    if (back)
      rotate_backward(stream, of, arrays());
    else
      rotate(stream, of, arrays());
    stream.wait();
  }
};

/// An element of y in double.
template <class T>
double expected_at(const RotateCase<T>& c, int64_t row, int64_t column, double sign) {
  const PackedHeads& packed = c.of.packed;
  const int64_t head = column / packed.head_width, j = column % packed.head_width;
  const T* const x = c.x.data() + row * packed.columns() + head * packed.head_width;
  if (head >= packed.heads + packed.key_heads || j >= 2 * c.of.pairs) return float(x[j]);
  const std::vector<float>& table = head < packed.heads ? c.queries : c.keys;
  const int64_t pair = j % c.of.pairs;
  const float* const turn = table.data() + c.position(row) * 2 * c.of.pairs + pair;
  const double a = float(x[pair]), b = float(x[pair + c.of.pairs]);
  const double cosine = turn[0], sine = sign * double(turn[c.of.pairs]);
  return j < c.of.pairs ? a * cosine - b * sine : b * cosine + a * sine;
}

template <class T>
void expect_doubles(RotateCase<T>& c, bool back) {
  c.run(back);
  const int64_t columns = c.of.packed.columns();
  for (int64_t i = 0; i < int64_t(c.y.size()); ++i) {
    const double expected = expected_at(c, i / columns, i % columns, back ? -1 : 1);
    ASSERT_NEAR(float(c.y[size_t(i)]), expected,
                1.01 * rounding<T>() * std::abs(expected) + 1e-6 * (rounding<T>() > 1e-6 ? 0.1 : 1))
        << "element " << i;
  }
}

/// Heads of 64 and 128, whole and half, odd counts of them, and widths that no vector divides.
constexpr RotateExtents kExtents[] = {
    {{.rows = 6, .heads = 2, .key_heads = 1, .head_width = 4}, 3, 2, 3},
    {{.rows = 6, .heads = 2, .key_heads = 1, .head_width = 10}, 2, 3, 5},
    {{.rows = 40, .heads = 9, .key_heads = 3, .head_width = 64}, 20, 32, 20},
    {{.rows = 21, .heads = 3, .key_heads = 3, .head_width = 128}, 7, 32, 9},
    {{.rows = 8, .heads = 1, .key_heads = 1, .head_width = 22}, 8, 11, 8}};

template <class T>
class Rotate : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Rotate, Elements);

TYPED_TEST(Rotate, TurnsQueriesAndKeysAsDoubleLoopsDo) {
  for (const RotateExtents& of : kExtents) {
    RotateCase<TypeParam> c(of);
    expect_doubles(c, false);
    expect_doubles(c, true);
  }
}

TYPED_TEST(Rotate, CountsPositionsFromTheFirstPlaceOfEachText) {
  RotateCase<TypeParam> c({{.rows = 12, .heads = 2, .key_heads = 2, .head_width = 16}, 6, 8, 6});
  c.first = {0, 0, 2, 2, 2, 5, 0, 1, 1, 1, 4, 4};
  expect_doubles(c, false);
  expect_doubles(c, true);
}

TYPED_TEST(Rotate, GivesTheSameBitsInPlaceAndByTwoThreads) {
  RotateCase<TypeParam> one(kExtents[2]), two(kExtents[2]);
  one.run(false, 1);
  Stream stream(2);
  adopt_threads(stream);
  RotateArrays<TypeParam> arrays = two.arrays();
  arrays.y = two.x.data();
  rotate(stream, two.of, arrays);
  stream.wait();
  EXPECT_TRUE(same_bits(one.y, two.x));
}

TYPED_TEST(Rotate, TakesThePositionsOfAChunkAndClearsItsPadding) {
  using T = TypeParam;
  RotateCase<T> c({{.rows = 4, .heads = 1, .key_heads = 1, .head_width = 8}, 4, 4, 9});
  const std::vector<ChunkRow> rows{
      {.text = 1, .position = 8}, {.text = 0, .position = 0}, {.text = 0, .position = 5}, {9, 900}};
  DecodeInputs chunk{};
  chunk.rows = 3;
  RotateArrays<T> arrays = c.arrays();
  arrays.chunk = &chunk;
  arrays.rows = rows.data();
  Stream stream(1);
  adopt_threads(stream);
  rotate(stream, c.of, arrays);
  stream.wait();
  RotateCase<T> at(c.of);
  at.of.length = 1;  // places are 0, so -first is the position
  at.first = {-8, 0, -5, 0};
  for (int64_t i = 0; i < 3 * c.of.packed.columns(); ++i) {
    const int64_t columns = c.of.packed.columns();
    const double expected = expected_at(at, i / columns, i % columns, 1);
    EXPECT_NEAR(float(c.y[size_t(i)]), expected, 1.01 * rounding<T>() * std::abs(expected) + 1e-6);
  }
  for (int64_t i = 3 * c.of.packed.columns(); i < int64_t(c.y.size()); ++i)
    EXPECT_EQ(float(c.y[size_t(i)]), 0.0f);
}

TEST(RotateValues, TurnsAQuarterCircleAndBack) {
  RotateCase<float> c({{.rows = 1, .heads = 1, .key_heads = 1, .head_width = 4}, 1, 2, 1});
  c.x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  c.queries = c.keys = {0, 1, 1, 0};  // the first pair by 90 degrees, the second not at all
  c.run();
  EXPECT_EQ(c.y, (std::vector<float>{-3, 2, 1, 4, -7, 6, 5, 8, 9, 10, 11, 12}));
  std::swap(c.x, c.y);
  c.run(true);
  EXPECT_EQ(c.y, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(RotateValues, RefusesMorePairsThanHalfAHead) {
  RotateCase<float> c({{.rows = 1, .heads = 1, .key_heads = 1, .head_width = 4}, 1, 3, 1});
  EXPECT_THROW(c.run(), Error);
  c.of.pairs = 2;
  EXPECT_NO_THROW(c.run());
}

}  // namespace
}  // namespace zero::kernels
