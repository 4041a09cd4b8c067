// Ranks: 1

#include "zero/kernels/product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/support/device_array.hpp"
#include "tests/support/kernel_arrays.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"
#include "zero/device/device.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {
namespace {

using testing::poisoned;
using testing::sixteenths;

template <class T>
struct Operands {
  std::vector<T> a, b, bias;

  explicit Operands(const ProductSpec& spec)
      : a(sixteenths<T>(std::max(spec.m, spec.lda) * std::max(spec.k, spec.lda), 1)),
        b(sixteenths<T>(std::max(spec.k, spec.ldb) * std::max(spec.n, spec.ldb), 2)),
        bias(sixteenths<T>(spec.n, 3)) {}
};

testing::ReferenceProduct reference(const ProductSpec& spec) {
  const int64_t lda = spec.lda > 0 ? spec.lda : spec.transpose_a ? spec.m : spec.k;
  const int64_t ldb = spec.ldb > 0 ? spec.ldb : spec.transpose_b ? spec.k : spec.n;
  return {spec.m, spec.n, spec.k, testing::strides(spec.transpose_a, lda),
          testing::strides(spec.transpose_b, ldb)};
}

/// Checks c against double loops; rows of c beyond n, and c's old value where it may not be read,
/// are poisoned.
template <class T, class Out>
void check(const ProductSpec& spec, bool with_bias, int threads = 1) {
  SCOPED_TRACE(text(name_of(dtype_of<T>()), " to ", name_of(dtype_of<Out>()), " ", spec.m, " x ",
                    spec.n, " x ", spec.k, " transposed ", spec.transpose_a, spec.transpose_b,
                    " accumulate ", spec.accumulate, " bias ", with_bias));
  Stream stream(threads);
  const Operands<T> in(spec);
  const int64_t ldc = spec.ldc > 0 ? spec.ldc : spec.n;
  std::vector<Out> c = poisoned<Out>(spec.m * ldc);
  if (spec.accumulate) std::fill(c.begin(), c.end(), Out(3.0f));
  const std::vector<Out> before = c;
  const testing::DeviceArray<T> a(in.a), b(in.b), bias(in.bias);
  const testing::DeviceArray<Out> out(c);
  product<T, Out>(stream, spec, a.data(), b.data(), with_bias ? bias.data() : nullptr, out.data());
  stream.wait();
  c = out.values();
  const std::vector<double> sums = testing::multiply(reference(spec), in.a, in.b);
  for (int64_t i = 0; i < spec.m; ++i) {
    for (int64_t j = 0; j < spec.n; ++j) {
      const double sum = sums[size_t(i * spec.n + j)];
      double expected = sum;
      if (spec.accumulate) expected += 3.0;
      if (with_bias) expected += double(float(in.bias[size_t(j)]));
      // A GPU's library rounds some products once more before it adds a bias.
      const double between = with_bias && drives_devices() ? std::abs(sum) : 0.0;
      const double error = rounding<Out>() * (std::abs(expected) + between) + 1e-6 * double(spec.k);
      ASSERT_NEAR(double(float(c[size_t(i * ldc + j)])), expected, error) << i << ", " << j;
    }
    for (int64_t j = spec.n; j < ldc; ++j)
      ASSERT_EQ(std::memcmp(&c[size_t(i * ldc + j)], &before[size_t(i * ldc + j)], sizeof(Out)), 0);
  }
}

template <class T>
void check_forms(ProductSpec spec, int threads = 1) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      spec.transpose_a = transpose_a;
      spec.transpose_b = transpose_b;
      spec.accumulate = false;
      check<T, T>(spec, false, threads);
      check<T, T>(spec, true, threads);
      check<T, float>(spec, true, threads);
      spec.accumulate = true;
      check<T, float>(spec, false, threads);
    }
  }
}

template <class T>
class Product : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Product, Elements);

TYPED_TEST(Product, OfTwoByTwoMatricesIsWhatOneGetsByHand) {
  Stream stream(1);
  const TypeParam a[] = {TypeParam(1), TypeParam(2), TypeParam(3), TypeParam(4)};
  const TypeParam b[] = {TypeParam(5), TypeParam(6), TypeParam(7), TypeParam(8)};
  const TypeParam bias[] = {TypeParam(10), TypeParam(100)};
  TypeParam c[4];
  product<TypeParam, TypeParam>(stream, {.m = 2, .n = 2, .k = 2}, a, b, bias, c);
  stream.wait();
  EXPECT_EQ(float(c[0]), 29.0f);
  EXPECT_EQ(float(c[1]), 122.0f);
  EXPECT_EQ(float(c[2]), 53.0f);
  EXPECT_EQ(float(c[3]), 150.0f);
}

TYPED_TEST(Product, AgreesWithDoubleLoopsInAllFourFormsAndOddSizes) {
  check_forms<TypeParam>({.m = 1, .n = 1, .k = 1});
  check_forms<TypeParam>({.m = 7, .n = 5, .k = 3});
  check_forms<TypeParam>({.m = 33, .n = 65, .k = 40}, 2);
  check_forms<TypeParam>({.m = 130, .n = 70, .k = 129}, 3);
}

TYPED_TEST(Product, OfMoreThanOneBlockInEveryDirectionAgreesWithDoubleLoops) {
  check_forms<TypeParam>({.m = 3, .n = 1030, .k = 9}, 2);
  check_forms<TypeParam>({.m = 1030, .n = 3, .k = 9}, 2);
  check_forms<TypeParam>({.m = 5, .n = 6, .k = 4200}, 2);
}

TYPED_TEST(Product, TakesLeadingDimensionsAndLeavesTheRestOfEachRowAlone) {
  check_forms<TypeParam>({.m = 20, .n = 24, .k = 16, .lda = 72, .ldb = 72, .ldc = 40});
  check_forms<TypeParam>({.m = 17, .n = 19, .k = 21, .lda = 23, .ldb = 29, .ldc = 31}, 2);
  check_forms<TypeParam>({.m = 9, .n = 1, .k = 6, .ldc = 4});
}

TYPED_TEST(Product, RefusesToAccumulateInSixteenBitsAndNonsense) {
  Stream stream(1);
  TypeParam x[4] = {}, y[4] = {};
  const auto call = [&](const ProductSpec& spec, const TypeParam* bias) {
    product<TypeParam, TypeParam>(stream, spec, x, x, bias, y);
  };
  if (sizeof(TypeParam) == 2) {
    EXPECT_THROW(call({.m = 2, .n = 2, .k = 2, .accumulate = true}, nullptr), Error);
  }
  EXPECT_THROW(call({.m = 2, .n = 2, .k = 2, .accumulate = true}, x), Error);
  EXPECT_THROW(call({.m = 0, .n = 2, .k = 2}, nullptr), Error);
  EXPECT_THROW(call({.m = 2, .n = 2, .k = 2, .lda = 1}, nullptr), Error);
  EXPECT_NO_THROW(call({.m = 2, .n = 2, .k = 2, .lda = 2}, nullptr));
  EXPECT_NO_THROW(call({.m = 2, .n = 2, .k = 2}, x));
}

TEST(ProductBlocks, GoesInBlocksOfRowsWhereTheLibraryWantsACopyOfAllOfC) {
  check<bf16, bf16>({.m = 5000, .n = 1024, .k = 24, .transpose_a = true}, false);
  check<bf16, bf16>({.m = 5000, .n = 1024, .k = 24}, true, 2);
}

TEST(ProductRange, AHalfOverflowsToInfinityAndAFloatOutDoesNot) {
  Stream stream(1);
  const f16 big[] = {f16(256.0f)};
  f16 half[1];
  float wide[1];
  product<f16, f16>(stream, {.m = 1, .n = 1, .k = 1}, big, big, nullptr, half);
  product<f16, float>(stream, {.m = 1, .n = 1, .k = 1}, big, big, nullptr, wide);
  stream.wait();
  EXPECT_EQ(half[0].bits, 0x7c00);
  EXPECT_EQ(wide[0], 65536.0f);
}

/// Three kinds of product in the given order; returns their results side by side.
template <class T>
std::vector<float> three_products(const std::vector<int>& order, int threads) {
  const ProductSpec specs[] = {{.m = 200, .n = 96, .k = 300},
                               {.m = 96, .n = 300, .k = 200, .transpose_a = true},
                               {.m = 64, .n = 48, .k = 5000, .transpose_b = true}};
  Stream stream(threads);
  adopt_threads(stream);
  std::vector<float> all(3 * 96 * 300);
  for (int index : order) {
    const Operands<T> in(specs[index]);
    product<T, float>(stream, specs[index], in.a.data(), in.b.data(), nullptr,
                      all.data() + index * 96 * 300);
    stream.wait();
  }
  return all;
}

TYPED_TEST(Product, GivesTheSameBitsInEveryOrderAndFromEveryThread) {
  for (int threads : {1, 2}) {
    const std::vector<float> first = three_products<TypeParam>({0, 1, 2}, threads);
    EXPECT_TRUE(same_bits(first, three_products<TypeParam>({2, 0, 1, 1, 0}, threads)));
    std::vector<std::vector<float>> others(4);
    std::vector<std::thread> ranks;
    for (size_t rank = 0; rank < others.size(); ++rank)
      ranks.emplace_back([&others, rank, threads] {
        others[rank] = three_products<TypeParam>({int(rank) % 3, 1, 0, 2}, threads);
      });
    for (std::thread& rank : ranks) rank.join();
    for (const auto& other : others) EXPECT_TRUE(same_bits(first, other));
  }
}

/// The sums of columns of a matrix that begins `late` elements behind where its memory does.
template <class T>
void check_column_sum(int64_t rows, int64_t columns, int64_t late = 0) {
  const auto x = sixteenths<T>(late + rows * columns, 5);
  auto sum = poisoned<T>(columns);
  auto scratch = poisoned<float>(column_sum_scratch_numel(rows, columns));
  Stream stream(2);
  column_sum(stream, rows, columns, x.data() + late, sum.data(), scratch.data());
  stream.wait();
  for (int64_t j = 0; j < columns; ++j) {
    double expected = 0;
    for (int64_t i = 0; i < rows; ++i) expected += double(float(x[size_t(late + i * columns + j)]));
    ASSERT_EQ(float(sum[size_t(j)]), float(T(float(expected)))) << rows << " " << j;
  }
}

TYPED_TEST(Product, ColumnSumAddsRowsInFp32AndRoundsOnce) {
  for (int64_t rows : {1, 3, 31, 32, 33, 100, 5000}) check_column_sum<TypeParam>(rows, 600);
}

TYPED_TEST(Product, ColumnSumOfWideRowsDoesWhereverTheyLie) {
  for (int64_t rows : {1, 33, 100}) {
    for (int64_t columns : {2048, 2050}) {
      check_column_sum<TypeParam>(rows, columns);
      check_column_sum<TypeParam>(rows, columns, 1);
    }
  }
}

TYPED_TEST(Product, ColumnSumDoesNotDependOnTheThreads) {
  const int64_t rows = 700, columns = 1000;
  std::vector<TypeParam> x = sixteenths<TypeParam>(rows * columns, 6), sums[2];
  for (size_t i = 0; i < x.size(); ++i) x[i] = TypeParam(float(x[i]) / float(1 + i % 7));
  for (int threads : {1, 3}) {
    Stream stream(threads);
    auto& sum = sums[threads / 3];
    sum = poisoned<TypeParam>(columns);
    std::vector<float> scratch(size_t(column_sum_scratch_numel(rows, columns)));
    column_sum(stream, rows, columns, x.data(), sum.data(), scratch.data());
    stream.wait();
  }
  EXPECT_TRUE(same_bits(sums[0], sums[1]));
}

TYPED_TEST(Product, ColumnSumRefusesNoRowsAndNoColumns) {
  Stream stream(1);
  TypeParam x[1] = {}, sum[1] = {};
  float scratch[1] = {};
  EXPECT_THROW(column_sum(stream, 0, 1, x, sum, scratch), Error);
  EXPECT_THROW(column_sum(stream, 1, 0, x, sum, scratch), Error);
}

TEST(ProductLibrary, HasANameForTheRecordOfArithmeticChoices) {
  EXPECT_GT(std::string(product_library()).size(), 4u);
}

TEST(ProductLibrary, IsAskedForAtLeastOneAlgorithmAndAtMostThirtyTwo) {
  EXPECT_THROW(set_product_rules({.candidates = 0}), Error);
  EXPECT_THROW(set_product_rules({.candidates = 33}), Error);
  EXPECT_NO_THROW(set_product_rules({.candidates = 32}));
  set_product_rules({});
}

}  // namespace
}  // namespace zero::kernels
