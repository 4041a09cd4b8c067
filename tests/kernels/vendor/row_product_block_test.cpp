// Ranks: 1

#include "kernels/vendor/row_product_block.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"
#include "tests/support/block_row.hpp"
#include "tests/support/matrix_reference.hpp"

namespace zero::kernels::vendor {
namespace {

using testing::noise;
using testing::poisoned;
using testing::relative_error;
using testing::rounding;
using testing::same_bits;

template <class T>
struct Case {
  RowProductExtents extents;
  std::vector<T> x, weight, bias;

  explicit Case(const RowProductExtents& sizes)
      : extents(sizes),
        x(noise<T>(sizes.rows * sizes.in, 1)),
        weight(noise<T>(sizes.in * sizes.out, 2)),
        bias(noise<T>(sizes.out, 3)) {}

  /// The weight as the product reads it: panels of 64 columns, one behind the other.
  std::vector<T> panels() const {
    std::vector<T> to;
    for (int64_t first = 0; first < extents.out; first += 64)
      for (int64_t row = 0; row < extents.in; ++row)
        for (int64_t j = first; j < std::min(first + 64, extents.out); ++j)
          to.push_back(weight[size_t(row * extents.out + j)]);
    return to;
  }

  /// Element by element, with one more behind them, which stays as it is.
  std::vector<T> run() const {
    const std::vector<T> panelled = panels();
    auto y = poisoned<T>(extents.rows * extents.out + 1);
    const RowProductArrays<T> arrays{x.data(), panelled.data(),
                                     bias.empty() ? nullptr : bias.data(), y.data(), nullptr};
    testing::run_elements(extents.rows * extents.out, RowProduct<T>{extents, arrays});
    EXPECT_TRUE(same_bits({y.back()}, poisoned<T>(1))) << "written behind y";
    y.pop_back();
    return y;
  }

  std::vector<double> expected() const {
    auto y = testing::multiply<T>(
        {extents.rows, extents.out, extents.in, testing::strides(false, extents.in),
         testing::strides(false, extents.out)},
        x, weight);
    for (size_t i = 0; i < y.size() && !bias.empty(); ++i)
      y[i] += double(float(bias[i % size_t(extents.out)]));
    return y;
  }

  /// What this build's own product gives: on the host that of its twin.
  std::vector<T> run_twin() const {
    Stream stream(2);
    const std::vector<T> panelled = panels();
    auto y = poisoned<T>(extents.rows * extents.out);
    std::vector<float> scratch(size_t(row_product_scratch_numel(extents) + 1));
    row_product<T>(stream, extents,
                   {x.data(), panelled.data(), bias.empty() ? nullptr : bias.data(), y.data(),
                    scratch.data()});
    stream.wait();
    return y;
  }
};

template <class T>
class RowProductBlock : public ::testing::Test {};
using Types = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(RowProductBlock, Types);

TYPED_TEST(RowProductBlock, AgreesWithDoubleLoopsAndWithTheHost) {
  for (const RowProductExtents& extents :
       {RowProductExtents{1, 1, 1}, RowProductExtents{1, 9, 33}, RowProductExtents{2, 64, 100},
        RowProductExtents{3, 50, 900}, RowProductExtents{70, 23, 300}})
    for (const bool biased : {true, false}) {
      Case<TypeParam> one(extents);
      if (!biased) one.bias.clear();
      const std::vector<TypeParam> y = one.run();
      const double bound = rounding<TypeParam>() + 1e-6;
      SCOPED_TRACE(::testing::Message()
                   << extents.rows << " x " << extents.in << " x " << extents.out);
      EXPECT_LT(relative_error(y, one.expected()), bound);
      EXPECT_LT(relative_error(one.run_twin(), testing::doubles(y)), bound);
    }
}

TYPED_TEST(RowProductBlock, ARowHasTheSameBitsAloneAndAmongOthers) {
  const Case<TypeParam> all({.rows = 5, .in = 77, .out = 131});
  const std::vector<TypeParam> y = all.run();
  for (int64_t row : {0, 4}) {
    Case<TypeParam> one({.rows = 1, .in = 77, .out = 131});
    one.x.assign(all.x.begin() + row * 77, all.x.begin() + (row + 1) * 77);
    EXPECT_TRUE(same_bits(one.run(), {y.begin() + row * 131, y.begin() + (row + 1) * 131}));
  }
}

/// A table, rows of which 3, 0 and 2 are wanted, and scores with one more behind them.
template <class T>
struct Table {
  static constexpr int64_t kClasses = 37;
  int64_t width;
  std::vector<T> table, x;
  std::vector<int32_t> rows{3, 0, 2};
  std::vector<float> y = poisoned<float>(3 * kClasses + 1);

  explicit Table(int64_t columns)
      : width(columns), table(noise<T>(kClasses * columns, 2)), x(noise<T>(4 * columns, 1)) {}

  void run(int64_t wanted) {
    const DecodeInputs inputs{.rows = 4, .logits = wanted};
    testing::run_rows(
        kClasses,
        TableProduct<T>{kClasses, width, &inputs, {x.data(), rows.data(), table.data(), y.data()}});
  }
  /// |difference| to double loops over the wanted rows.
  double error() const {
    std::vector<T> some;
    for (const int32_t row : rows)
      some.insert(some.end(), x.begin() + row * width, x.begin() + (row + 1) * width);
    return relative_error(
        y, testing::multiply<T>(
               {3, kClasses, width, testing::strides(false, width), testing::strides(true, width)},
               some, table));
  }
};

template <class T>
class TableProductBlock : public ::testing::Test {};
TYPED_TEST_SUITE(TableProductBlock, Types);

TYPED_TEST(TableProductBlock, OfSomeRowsAgreesWithDoubleLoops) {
  for (int64_t width : {1, 31, 128, 500}) {
    Table<TypeParam> of(width);
    of.run(3);
    EXPECT_LT(of.error(), 1e-6) << "width " << width;
    EXPECT_TRUE(std::isnan(of.y.back())) << "written behind the scores";
  }
}

TYPED_TEST(TableProductBlock, WritesNothingWhereNoRowIsWanted) {
  Table<TypeParam> of(31);
  const std::vector<float> before = of.y;
  of.run(0);
  EXPECT_TRUE(same_bits(of.y, before));
}

}  // namespace
}  // namespace zero::kernels::vendor
