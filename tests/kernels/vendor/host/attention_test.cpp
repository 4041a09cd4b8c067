// Ranks: 1
#include "kernels/vendor/host/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace zero::kernels::vendor {
namespace {

TEST(AssignLanes, RoundsInAPartOfTheLanesAsInAll) {
  const float subnormal = std::numeric_limits<float>::min() / 2;  // in bf16 too
  Lanes values = {0.1f, -subnormal, 3e38f, subnormal, -0.0f, 1.00390625f};
  bf16 all[kRowLanes];
  assign_lanes(all, values);
  for (int64_t count = 0; count <= kRowLanes; ++count) {
    bf16 part[kRowLanes];
    std::fill_n(part, kRowLanes, bf16(7.0f));
    assign_lanes(part, values, count);
    for (int64_t l = 0; l < kRowLanes; ++l)
      EXPECT_EQ(part[l].bits, l < count ? all[l].bits : bf16(7.0f).bits) << l << " of " << count;
  }
}

}  // namespace
}  // namespace zero::kernels::vendor
