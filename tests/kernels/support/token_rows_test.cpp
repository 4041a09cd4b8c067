// Ranks: 1

#include "kernels/support/token_rows.hpp"

#include <gtest/gtest.h>

#include "tests/support/arrays.hpp"

namespace zero::kernels {
namespace {

TEST(NextEqual, FindsTheNearestRowBehind) {
  const std::vector<int32_t> tokens = {5, 7, 5, 5, 7};
  EXPECT_EQ(next_equal(tokens.data(), 0, 5), 2);
  EXPECT_EQ(next_equal(tokens.data(), 1, 5), 4);
  EXPECT_EQ(next_equal(tokens.data(), 2, 5), 3);
  EXPECT_EQ(next_equal(tokens.data(), 3, 5), -1);
  EXPECT_EQ(next_equal(tokens.data(), 0, 1), -1);
}

TEST(NextEqual, FindsItAtEveryDistance) {
  for (size_t distance = 1; distance < 70; ++distance) {
    std::vector<int32_t> tokens(80, 1);
    tokens[3] = tokens[3 + distance] = tokens[3 + distance + 5] = 2;
    EXPECT_EQ(next_equal(tokens.data(), 3, 80), 3 + int64_t(distance));
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
