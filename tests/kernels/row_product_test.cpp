// Ranks: 1

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

using testing::doubles;
using testing::poisoned;
using testing::relative_error;
using testing::rounding;
using testing::same_bits;
using testing::sixteenths;

template <class T>
struct Case {
  RowProductExtents extents;
  std::vector<T> x, weight, bias;

  explicit Case(const RowProductExtents& sizes)
      : extents(sizes),
        x(testing::noise<T>(sizes.rows * sizes.in, 1)),
        weight(testing::noise<T>(sizes.in * sizes.out, 2)),
        bias(testing::noise<T>(sizes.out, 3)) {}

  /// The weight as the product reads it.
  std::vector<T> panels() const {
    const WeightPanels places{extents.in, extents.out};
    std::vector<float> values, part;
    for (const T& value : weight) values.push_back(float(value));
    std::vector<T> to(weight.size());
    for (int64_t panel = 0; panel < places.count(); ++panel) {
      const int64_t at = places.take(panel, 0, values, part);
      for (size_t i = 0; i < part.size(); ++i) to[size_t(at) + i] = T(part[i]);
    }
    return to;
  }

  /// Rows [first, first + rows) of the product.
  std::vector<T> run(int64_t first, int64_t rows, int threads) const {
    Stream stream(threads);
    const RowProductExtents part{rows, extents.in, extents.out};
    auto y = poisoned<T>(rows * extents.out);
    const std::vector<T> panelled = panels();
    auto scratch = poisoned<int32_t>(row_product_scratch_numel(part) + 1);
    row_product<T>(stream, part,
                   {x.data() + first * extents.in, panelled.data(), bias.data(), y.data(),
                    reinterpret_cast<float*>(scratch.data())});
    stream.wait();
    EXPECT_EQ(scratch.back(), -1);
    return y;
  }

  std::vector<double> expected() const {
    auto y = testing::multiply<T>(
        {extents.rows, extents.out, extents.in, testing::strides(false, extents.in),
         testing::strides(false, extents.out)},
        x, weight);
    for (size_t i = 0; i < y.size(); ++i) y[i] += double(float(bias[i % size_t(extents.out)]));
    return y;
  }
};

template <class T>
class RowProduct : public ::testing::Test {};
using Types = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(RowProduct, Types);

TYPED_TEST(RowProduct, AgreesWithDoubleLoopsForAnyExtents) {
  for (const RowProductExtents& extents :
       {RowProductExtents{1, 1, 1}, RowProductExtents{1, 9, 33}, RowProductExtents{2, 64, 100},
        RowProductExtents{3, 50, 9000}, RowProductExtents{70, 23, 300}}) {
    const Case<TypeParam> one(extents);
    EXPECT_LT(relative_error(one.run(0, extents.rows, 2), one.expected()),
              rounding<TypeParam>() + 1e-6)
        << extents.rows << " x " << extents.in << " x " << extents.out;
  }
}

TYPED_TEST(RowProduct, ARowHasTheSameBitsAloneAndAmongOthersOnAnyThreads) {
  // Sums of noise are rounded, so another order of them would be seen.
  const Case<TypeParam> one({.rows = 67, .in = 77, .out = 301});
  const std::vector<TypeParam> all = one.run(0, 67, 1);
  EXPECT_TRUE(same_bits(one.run(0, 67, 3), all));
  for (int64_t row : {0, 5, 66}) {
    const auto from = all.begin() + row * 301;
    EXPECT_TRUE(same_bits(one.run(row, 1, 2), std::vector<TypeParam>(from, from + 301)));
  }
}

TYPED_TEST(RowProduct, RefusesAnEmptyExtent) {
  Stream stream(1);
  EXPECT_THROW(row_product<TypeParam>(stream, {.rows = 1, .in = 0, .out = 4}, {}), Error);
}

template <class T>
class TableProduct : public ::testing::Test {};
TYPED_TEST_SUITE(TableProduct, Types);

TYPED_TEST(TableProduct, OfTheLastRowThatThereIsAgreesWithDoubleLoopsOnAnyThreads) {
  for (int64_t width : {1, 31, 64, 100}) {
    constexpr int64_t kClasses = 519, kRows = 3;
    const auto table = sixteenths<TypeParam>(519 * width, 2);
    auto x = sixteenths<TypeParam>((kRows + 1) * width, 1);
    const auto last = x.begin() + (kRows - 1) * width;
    const auto expected = testing::multiply<TypeParam>(
        {1, kClasses, width, testing::strides(false, width), testing::strides(true, width)},
        {last, last + width}, table);
    const DecodeInputs inputs{.position = 7, .rows = kRows};
    auto one = poisoned<float>(kClasses), three = poisoned<float>(kClasses);
    Stream alone(1), team(3);
    table_product<TypeParam>(alone, kClasses, width, &inputs, {x.data(), table.data(), one.data()});
    table_product<TypeParam>(team, kClasses, width, &inputs,
                             {x.data(), table.data(), three.data()});
    alone.wait();
    team.wait();
    EXPECT_LT(relative_error(one, expected), 1e-6) << "width " << width;
    EXPECT_TRUE(same_bits(one, three));
  }
}

TYPED_TEST(TableProduct, RefusesAnEmptyTable) {
  Stream stream(1);
  EXPECT_THROW(table_product<TypeParam>(stream, 0, 4, nullptr, {}), Error);
}

}  // namespace
}  // namespace zero::kernels
