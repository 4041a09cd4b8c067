// Ranks: 1

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "zero/kernels/decode.hpp"

namespace zero::kernels {
namespace {

using ::testing::ElementsAre;

std::vector<float> count_from(float first, int64_t numel) {
  std::vector<float> values(static_cast<size_t>(numel));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(WeightPanels, LieOneBehindTheOtherTheLastNarrower) {
  const WeightPanels panels{.in = 2, .out = 130};
  EXPECT_EQ(panels.count(), 3);
  EXPECT_EQ(panels.columns(1), 64);
  EXPECT_EQ(panels.columns(2), 2);
  std::vector<float> part;
  EXPECT_EQ(panels.take(2, 0, count_from(0, 260), part), 2 * 128);
  EXPECT_THAT(part, ElementsAre(128, 129, 258, 259)) << "columns 128 and 129 of rows 0 and 1";
}

TEST(WeightPanels, PiecesOfAnySizeFillThemOnce) {
  const WeightPanels panels{.in = 5, .out = 100};
  const auto filled = [&](int64_t piece) {
    std::vector<float> places(500, -1), part;
    for (int64_t first = 0; first < 500; first += piece) {
      const auto values = count_from(float(first), std::min(piece, 500 - first));
      for (int64_t panel = 0; panel < panels.count(); ++panel) {
        const int64_t at = panels.take(panel, first, values, part);
        for (size_t i = 0; i < part.size(); ++i) {
          EXPECT_EQ(places[size_t(at) + i], -1) << "piece " << piece;
          places[size_t(at) + i] = part[i];
        }
      }
    }
    return places;
  };
  const std::vector<float> whole = filled(500);
  EXPECT_EQ(whole[64 + 1], 101) << "row 1, column 1, behind the 64 of row 0";
  EXPECT_EQ(whole[5 * 64 + 36], 164) << "row 1, column 64, behind the 36 of row 0";
  for (int64_t piece : {1, 7, 64, 99, 101, 250}) EXPECT_EQ(filled(piece), whole);
}

}  // namespace
}  // namespace zero::kernels
