// Ranks: 1

#include "src/train/summary.hpp"

#include <gtest/gtest.h>

namespace zero::train {
namespace {

TEST(RegionTable, GivesMeansOfAStepTheLongestFirst) {
  const run::Executor::Profile regions[] = {{"adam", 0.1, 4}, {"linear", 0.3, 20}};
  EXPECT_EQ(region_table(regions, 2),
            "time of each region a step on rank 0, with evaluations; lanes run beside each other\n"
            "  linear                  150.000 ms  75.0 %  10.0 calls\n"
            "  adam                     50.000 ms  25.0 %  2.0 calls\n");
}

TEST(DiskReport, KeepsASpeedUpForADay) {
  EXPECT_EQ(state::a_day(1000, 86.4), 1000 * 1000);
  EXPECT_EQ(state::a_day(1000, 0), 0) << "nothing has run";
}

TEST(DiskReport, IsOneLineWhereThereIsADisk) {
  const DiskReport report{.planned = {.read = 4096, .written = 2048},
                          .steps = {.read = 4096, .written = 2048},
                          .all = {.read = 5000, .written = 6000},
                          .kernel = {}};
  EXPECT_EQ(disk_text(report, 86.4),
            "disk in steps: read 4.00 KiB, written 2.00 KiB, planned: read 4.00 KiB, written "
            "2.00 KiB; 1.95 MiB written a day at this speed\n");
  EXPECT_EQ(disk_text({}, 1), "");
}

}  // namespace
}  // namespace zero::train
