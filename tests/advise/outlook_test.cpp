// Ranks: 1
#include "zero/advise/outlook.hpp"

#include <gtest/gtest.h>

#include "zero/base/error.hpp"
#include "zero/device/device.hpp"

namespace zero::advise {
namespace {

constexpr int64_t kMiB = int64_t(1) << 20;

/// 200 MiB to be read in 2 s, 100 MiB to be written in 2 s.
DiskOutlook outlook() {
  return {.folders = {{.folder = "/a", .needed_bytes = 512 * kMiB, .free_bytes = 2048 * kMiB},
                      {.folder = "/b", .needed_bytes = 512 * kMiB, .free_bytes = 1024 * kMiB}},
          .rates = {.read = 100.0 * kMiB, .write = 50.0 * kMiB, .source = "measured"},
          .step = {.bytes_read = 200 * kMiB, .bytes_written = 100 * kMiB}};
}

TEST(DiskOutlook, TellsNeedRoomRatesAndTimeOfAStep) {
  EXPECT_EQ(
      outlook_text(outlook()),
      "disk /a: needs 512.00 MiB of 2.00 GiB free; a rank reads 100.00 MiB/s, writes 50.00 "
      "MiB/s (measured)\n"
      "disk /b: needs 512.00 MiB of 1.00 GiB free; a rank reads 100.00 MiB/s, writes 50.00 "
      "MiB/s (measured)\n"
      "its transfers take a predicted 4 s of a step: 200.00 MiB read, 100.00 MiB written by a "
      "rank\n");
  EXPECT_EQ(outlook_text({}), "");
}

TEST(DiskOutlook, WarnsOfADiskThatTakesFarLongerThanCompute) {
  EXPECT_NE(outlook_warning(outlook(), 1).find("predicted 4 s in /a, its products 1 s"),
            std::string::npos);
  EXPECT_EQ(outlook_warning(outlook(), 1.5), "") << "less than three times as long";
  DiskOutlook small = outlook();
  small.step = {.bytes_read = 40 * kMiB, .bytes_written = 0};
  EXPECT_EQ(outlook_warning(small, 0.01), "") << "0.4 s";
  EXPECT_EQ(outlook_warning({}, 0), "");
}

TEST(DiskOutlook, DividesWhatANodesRanksNeedAmongFolders) {
  const auto folders = disk_folders({.folders = {".", "/tmp"}}, 100, 3);
  ASSERT_EQ(folders.size(), 2U);
  EXPECT_EQ(folders[0].folder, ".");
  EXPECT_EQ(folders[1].needed_bytes, 150);
  EXPECT_GT(folders[0].free_bytes, 0);
  EXPECT_TRUE(disk_folders({.folders = {"absent"}}, 0, 1).empty()) << "nothing is on disk";
  EXPECT_THROW(disk_folders({.folders = {"absent"}}, 1, 1), Error);
}

TEST(ProductPeaks, AreMeasuredForTrainingsOfMoreOperationsThanThatTakes) {
  const double measuring = 6 * 2.0 * 1024 * 1024 * 1024;
  EXPECT_TRUE(is_worth_a_product_peak(1.01 * measuring));
  EXPECT_FALSE(is_worth_a_product_peak(0.99 * measuring));
  EXPECT_FALSE(is_worth_a_product_peak(0)) << "no step is to come";
}

TEST(ProductPeaks, AreThoseOfThisMachine) {
  const double peak = measure_product_peak(1, Dtype::f32);
  EXPECT_TRUE(peak == 0 || (peak > 1e8 && peak < 1e15)) << peak;
}

TEST(ProductPeaks, AreMeasuredForThoseWhoWaitLongEnough) {
  constexpr double kHour = 3600, kNoTime = 0;
  EXPECT_GT(measure_product_peak(1, Dtype::f32, kHour), 1e8);
  const double at_once = measure_product_peak(1, Dtype::f32, kNoTime);
  EXPECT_EQ(at_once > 0, drives_devices()) << at_once;
}

}  // namespace
}  // namespace zero::advise
