// Ranks: 1

#include "src/comm/host_communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace zero::comm {
namespace {

TEST(PartNumel, IsAMultipleOf64ElementsAtAnyNumberOfRanks) {
  constexpr int64_t kStaging = int64_t(64) << 20;
  for (int ranks = 1; ranks <= 130; ++ranks) {
    for (const int64_t bytes : {2, 4}) {
      const int64_t row = std::min(ranks, kernels::kMaxTreeSources) * bytes;
      const int64_t numel = part_numel(kStaging, row);
      EXPECT_EQ(numel % 64, 0) << ranks << " ranks";
      EXPECT_LE(numel * row, kStaging) << ranks << " ranks";
      EXPECT_GT((numel + 64) * row, kStaging) << ranks << " ranks: more would fit";
    }
  }
}

TEST(PartNumel, TakesWhatThereIsOfAStagingForLessThan64) {
  EXPECT_EQ(part_numel(63 * 12, 12), 63);
  EXPECT_EQ(part_numel(64 * 12, 12), 64);
  EXPECT_EQ(part_numel(127 * 12 + 11, 12), 64);
}

}  // namespace
}  // namespace zero::comm
