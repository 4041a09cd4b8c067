// Ranks: 1

#include "zero/kernels/columns.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "tests/support/reference.hpp"

namespace zero::kernels {
namespace {

using testing::noise;
using testing::rounding;
using testing::same_bits;

constexpr float kScale = 0.75f;

/// Ranges at the front, in the middle and at the end, all columns, and rows that no vector divides.
constexpr ColumnRange kRanges[] = {
    {3, 8, 0, 8}, {5, 7, 0, 3}, {5, 7, 2, 3}, {700, 13, 9, 4}, {1, 1, 0, 1}};

template <class T>
std::vector<T> added(const ColumnRange& range, const std::vector<T>& x, const std::vector<T>& part,
                     int threads = 1) {
  Stream stream(threads);
  std::vector<T> y(x.size());
  add_to_columns<T>(stream, range, kScale, x.data(), part.data(), y.data());
  stream.wait();
  return y;
}

template <class T>
class Columns : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Columns, Elements);

/// An element of add_to_columns() in double.
template <class T>
double sum_at(const ColumnRange& range, const std::vector<T>& x, const std::vector<T>& part,
              int64_t i) {
  const int64_t row = i / range.columns, at = i % range.columns - range.first;
  const double own = float(x[size_t(i)]);
  if (at < 0 || at >= range.width) return own;
  return own + double(kScale) * double(float(part[size_t(row * range.width + at)]));
}

TYPED_TEST(Columns, AreAddedToAndOthersAreCopied) {
  using T = TypeParam;
  for (const ColumnRange& range : kRanges) {
    const auto x = noise<T>(range.rows * range.columns, 1, 2.0);
    const auto part = noise<T>(range.rows * range.width, 2, 2.0);
    const auto y = added(range, x, part);
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      const double expected = sum_at(range, x, part, i);
      const bool is_copy = expected == double(float(x[size_t(i)]));
      const double rounded = is_copy ? 0 : 1.01 * rounding<T>() * std::abs(expected) + 1e-7;
      ASSERT_NEAR(float(y[size_t(i)]), expected, rounded) << i;
    }
    auto in_place = x;
    Stream stream(2);
    add_to_columns<T>(stream, range, kScale, in_place.data(), part.data(), in_place.data());
    stream.wait();
    EXPECT_TRUE(same_bits(in_place, y)) << "in place, by two threads";
  }
}

TYPED_TEST(Columns, AreTakenAndScaled) {
  using T = TypeParam;
  for (const ColumnRange& range : kRanges) {
    const auto x = noise<T>(range.rows * range.columns, 1, 2.0);
    std::vector<T> part(size_t(range.rows * range.width));
    Stream stream(2);
    take_columns<T>(stream, range, kScale, x.data(), part.data());
    stream.wait();
    for (int64_t i = 0; i < int64_t(part.size()); ++i) {
      const int64_t row = i / range.width, column = range.first + i % range.width;
      const double expected =
          double(kScale) * double(float(x[size_t(row * range.columns + column)]));
      ASSERT_NEAR(float(part[size_t(i)]), expected,
                  1.01 * rounding<T>() * std::abs(expected) + 1e-7);
    }
  }
}

}  // namespace
}  // namespace zero::kernels
