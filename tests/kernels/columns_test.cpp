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

TYPED_TEST(Columns, AreAddedToAndOthersAreCopied) {
  using T = TypeParam;
  for (const ColumnRange& range : kRanges) {
    const auto x = noise<T>(range.rows * range.columns, 1, 2.0);
    const auto part = noise<T>(range.rows * range.width, 2, 2.0);
    const auto y = added(range, x, part);
    for (int64_t row = 0; row < range.rows; ++row) {
      for (int64_t column = 0; column < range.columns; ++column) {
        const auto i = size_t(row * range.columns + column);
        const int64_t at = column - range.first;
        if (at < 0 || at >= range.width) {
          ASSERT_TRUE(same_bits<T>({y[i]}, {x[i]})) << row << ", " << column;
          continue;
        }
        const double expected =
            double(float(x[i])) +
            double(kScale) * double(float(part[size_t(row * range.width + at)]));
        ASSERT_NEAR(float(y[i]), expected, 1.01 * rounding<T>() * std::abs(expected) + 1e-7)
            << row << ", " << column;
      }
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
