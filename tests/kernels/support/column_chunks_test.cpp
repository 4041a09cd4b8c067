// Ranks: 1

#include "kernels/support/column_chunks.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

using testing::noise, testing::same_bits;

template <class T>
class ColumnChunksOf : public ::testing::Test {};
using Elements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(ColumnChunksOf, Elements);

/// Adds chunks, [chunks, stride], one thread a column.
template <class T>
std::vector<T> columns_of(const RowChunks& chunks, int64_t stride, int64_t columns,
                          float* partial) {
  std::vector<T> sum(static_cast<size_t>(columns));
  const ColumnTree<T> tree{chunks.count(), stride, columns, partial, sum.data()};
  for (int64_t group = 0; group < tree.groups(); ++group) tree(HostRow(), group);
  return sum;
}

TYPED_TEST(ColumnChunksOf, OfAColumnSumHaveTheBitsOfTheHostsWay) {
  constexpr int64_t kColumns = 70;
  for (int64_t rows : {1, 7, 33, 700, 5000}) {
    const auto x = noise<TypeParam>(rows * kColumns, 1);
    std::vector<TypeParam> expected(size_t(kColumns), TypeParam(9.0f));
    std::vector<float> scratch(size_t(column_sum_scratch_numel(rows, kColumns)));
    Stream stream(2);
    column_sum(stream, rows, kColumns, x.data(), expected.data(), scratch.data());
    stream.wait();
    const ColumnChunks<TypeParam> sums{RowChunks{rows}, kColumns, x.data(), scratch.data()};
    for (int64_t item = 0; item < sums.items(); ++item) sums(item);
    EXPECT_TRUE(
        same_bits(expected, columns_of<TypeParam>(sums.chunks, kColumns, kColumns, scratch.data())))
        << rows;
  }
}

}  // namespace
}  // namespace zero::kernels
