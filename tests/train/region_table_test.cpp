// Ranks: 1
#include <gtest/gtest.h>

#include "src/train/summary.hpp"

namespace zero::train {
namespace {

TEST(RegionTable, GivesMeansOfAStepTheLongestFirst) {
  const run::Executor::Profile regions[] = {{"adam", 0.1, 4}, {"linear", 0.3, 20}};
  EXPECT_EQ(region_table(regions, 2),
            "time of each region a step on rank 0, with evaluations; lanes run beside each other\n"
            "  linear                  150.000 ms  75.0 %  10.0 calls\n"
            "  adam                     50.000 ms  25.0 %  2.0 calls\n");
}

}  // namespace
}  // namespace zero::train
