// Ranks: 1

#include "kernels/support/row_sums.hpp"

#include <gtest/gtest.h>

#include "tests/support/kernel_arrays.hpp"
#include "zero/base/text.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::column_tree_test";

/// The device's way; on the host with teams of one thread.
template <class F>
void for_each_team(const Stream& stream, int64_t rows, const F& f) {
  const int threads = kHostSpace ? 1 : TeamRow::kThreads;
  launch(kLabel, Kokkos::TeamPolicy<Space>(space_of(stream), int(rows), threads), TeamLoop<F>{f});
}

TEST(RowChunks, CoverAllRowsInAtMost128Chunks) {
  for (int64_t rows : {1, 31, 32, 33, 4096, 4097, 100000}) {
    const RowChunks chunks{rows};
    EXPECT_LE(chunks.count(), 128);
    EXPECT_EQ(chunks[0].begin, 0);
    for (int64_t c = 1; c < chunks.count(); ++c) EXPECT_EQ(chunks[c].begin, chunks[c - 1].end);
    EXPECT_EQ(chunks[chunks.count() - 1].end, rows);
  }
}

TEST(TreeOf, AddsNeighboursFirst) {
  // Neighbours cancel; from left to right 1 would be lost in 2^30.
  const std::vector<float> terms = {1, 0x1p30f, -0x1p30f, 3, 5};
  EXPECT_EQ(tree_of<8>(terms.data(), 1, 2), 0x1p30f);
  EXPECT_EQ(tree_of<8>(terms.data(), 2, 3), (1 - 0x1p30f) + 5);
  EXPECT_EQ(tree_of<8>(terms.data() + 3, 1, 2), 8.0f);
}

TEST(TreeOf, LeavesASingleTermAsItIs) {
  for (float term : {-0.0f, 0.0f, 0x1p-149f, -INFINITY}) {
    const float sum = tree_of<8>(&term, 1, 1);
    EXPECT_EQ(std::bit_cast<uint32_t>(sum), std::bit_cast<uint32_t>(term));
  }
}

/// A tree over noise.
struct SumCase {
  std::vector<float> partial, out;

  ColumnTree<float> tree(int64_t chunks, int64_t columns) {
    partial = noise<float>(chunks * 2 * columns, uint64_t(chunks));
    out.assign(size_t(columns), 9.0f);
    return {chunks, 2 * columns, columns, partial.data(), out.data()};
  }
};

TEST(ColumnTree, OfATeamHasTheBitsOfOneThread) {
  constexpr int64_t kWide = 300;
  Stream stream(2);
  for (int64_t chunks : {1, 2, 3, 5, 31, 32, 33, 64, 97, 127, 128, 528, 1024}) {
    SumCase one, team;
    const ColumnTree<float> tree = one.tree(chunks, kWide);
    for (int64_t group = 0; group < tree.groups(); ++group) tree(HostRow(), group);
    for_each_team(stream, tree.groups(), team.tree(chunks, kWide));
    stream.wait();
    EXPECT_TRUE(same_bits(one.out, team.out)) << chunks;
  }
}

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
    const ColumnChunks<TypeParam> sums{{rows, kColumns, kColumns, x.data()}, scratch.data()};
    for (int64_t item = 0; item < sums.items(); ++item) sums(item);
    const auto sum = columns_of<TypeParam>(sums.chunks(), kColumns, kColumns, scratch.data());
    EXPECT_TRUE(same_bits(expected, sum)) << rows;
  }
}

TEST(FirstEqual, FindsTheNearestRowBehind) {
  const std::vector<int32_t> tokens = {5, 7, 5, 5, 7};
  EXPECT_EQ(first_equal(tokens.data(), tokens[0], {1, 5}), 2);
  EXPECT_EQ(first_equal(tokens.data(), tokens[1], {2, 5}), 4);
  EXPECT_EQ(first_equal(tokens.data(), tokens[2], {3, 5}), 3);
  EXPECT_EQ(first_equal(tokens.data(), tokens[3], {4, 5}), -1);
  EXPECT_EQ(first_equal(tokens.data(), tokens[0], {1, 1}), -1);
}

TEST(FirstEqual, FindsItAtEveryDistance) {
  for (size_t distance = 1; distance < 70; ++distance) {
    std::vector<int32_t> tokens(80, 1);
    tokens[3] = tokens[3 + distance] = tokens[3 + distance + 5] = 2;
    EXPECT_EQ(first_equal(tokens.data(), tokens[3], {4, 80}), 3 + int64_t(distance));
  }
}

TEST(SumRowsAtOnce, AddsInTheOrderOfTheRows) {
  constexpr int64_t kWidth = 4;
  const auto x = testing::noise<float>(40 * kWidth, 1);
  for (int64_t rows : {1, 2, 7, 8, 9, 16, 20}) {
    for (int64_t count : {1, 3, 4}) {
      float sum[kWidth];
      const auto next = [=](int64_t r) { return r + 2 < 2 * rows ? r + 2 : -1; };
      sum_rows_at_once<kWidth>(x.data(), kWidth, 0, next, count, sum);
      for (int64_t j = 0; j < count; ++j) {
        float expected = 0;
        for (int64_t r = 0; r < 2 * rows; r += 2) expected += x[size_t(r * kWidth + j)];
        EXPECT_EQ(sum[j], expected) << rows << " rows";
      }
    }
  }
}

}  // namespace

}  // namespace zero::kernels
