// Ranks: 1

#include "kernels/support/column_tiles.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"
#include "tests/support/device_block.hpp"
#include "tests/support/matrix_reference.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

template <class T>
class Tiles : public ::testing::Test {};
using TileElements = ::testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Tiles, TileElements);

/// A warp adds every eighth row of the chunk, then the warps add in order.
template <class T>
std::vector<float> chunk_in_order(const std::vector<T>& x, int64_t columns, const Interval& rows) {
  std::vector<float> sum(size_t(columns), 0.0f);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t warp = 0; warp < 8; ++warp) {
      float of_warp = 0.0f;
      for (int64_t r = rows.begin + warp; r < rows.end; r += 8)
        of_warp += float(x[size_t(r * columns + j)]);
      sum[size_t(j)] += of_warp;
    }
  }
  return sum;
}

TYPED_TEST(Tiles, AddTheRowsOfAChunkInOrder) {
  struct Extents {
    int64_t rows, columns, chunks;
  };
  for (const Extents e : {Extents{1, 8, 1}, {7, 264, 2}, {300, 512, 3}, {1031, 40, 4}}) {
    SCOPED_TRACE(text(e.rows, " x ", e.columns));
    const auto x = testing::noise<TypeParam>(e.rows * e.columns, 1);
    auto partial = testing::poisoned<float>(e.chunks * e.columns);
    using Code = ColumnTiles<TypeParam>;
    const Code code{{e.rows, e.chunks}, e.columns, x.data(), partial.data()};
    for (int64_t index = code.blocks() - 1; index >= 0; --index) {
      testing::HostBlock(index, Code::kThreads, Code::kSharedNumel,
                         [&](const testing::HostBlockThread& block) { code(block); })
          .run();
    }
    for (int64_t c = 0; c < e.chunks; ++c) {
      const auto first = partial.begin() + c * e.columns;
      EXPECT_TRUE(testing::same_bits(std::vector<float>(first, first + e.columns),
                                     chunk_in_order(x, e.columns, code.chunks[c])));
    }
  }
}

TYPED_TEST(Tiles, AreOfWholeRuns) {
  const std::vector<TypeParam> x(32);
  const std::vector<float> partial(32);
  using Code = ColumnTiles<TypeParam>;
  EXPECT_TRUE(Code::takes(16, x.data(), partial.data()));
  EXPECT_FALSE(Code::takes(12, x.data(), partial.data()));
  EXPECT_FALSE(Code::takes(16, x.data() + 1, partial.data()));
  EXPECT_FALSE(Code::takes(16, x.data(), partial.data() + 1));
}

TEST(ChunksOfColumns, FillAGpuOnceWith64RowsAtLeast) {
  const auto chunks = [](int64_t rows, int64_t columns) {
    return ColumnTiles<bf16>::chunks_of(rows, columns).count;
  };
  EXPECT_EQ(chunks(65536, 768), 132 * 5 / 3);
  EXPECT_EQ(chunks(16384, 2304), 132 * 5 / 9);
  EXPECT_EQ(chunks(16384, 6400), 132 * 5 / 25);
  EXPECT_EQ(chunks(65536, 8), 132 * 5);
  EXPECT_EQ(chunks(130, 768), 3);
  EXPECT_EQ(chunks(1, 768), 1);
  EXPECT_EQ(chunks(65536, 256 * 1000), 1);
}

}  // namespace
}  // namespace zero::kernels
