// Ranks: 1
#include "zero/state/disk.hpp"

#include <gtest/gtest.h>

namespace zero::state {
namespace {

constexpr int64_t kMiB = int64_t(1) << 20;

/// A disk that reads 100 MiB/s and writes 50, looked at four times a second.
class Paced : public ::testing::Test {
 protected:
  /// What is said meanwhile, of a disk that moves so much a second.
  std::string after(double seconds, const DiskBytes& a_second, bool is_moving = true) {
    std::string said;
    for (const double end = now_ + seconds; now_ < end;) {
      now_ += 0.25;
      moved_.add({.read = a_second.read / 4, .written = a_second.written / 4});
      said += pace_.look(now_, is_moving, moved_);
    }
    return said;
  }

  double now_ = 1000;
  DiskBytes moved_{.read = 7 * kMiB, .written = 7 * kMiB};
  DiskPace pace_{"/disk",
                 {.read = 100.0 * kMiB, .write = 50.0 * kMiB, .slack = 4, .source = "measured"}};
};

TEST_F(Paced, WarnsOnceOfADiskThatIsMuchSlower) {
  EXPECT_EQ(after(6, {.read = 10 * kMiB, .written = 5 * kMiB}),
            "/disk is slow: 15.00 MiB/s over the last 5 s of its transfers, 75.00 MiB/s expected "
            "(measured); training goes on at its pace");
  EXPECT_EQ(after(60, {}), "");
}

TEST_F(Paced, WarnsOfADiskThatDoesNotMove) {
  EXPECT_EQ(after(6, {}),
            "/disk is slow: 0 B/s over the last 5 s of its transfers, 50.00 MiB/s expected "
            "(measured); training goes on at its pace");
}

TEST_F(Paced, IsSilentAboutOneThatIsSomewhatSlower) {
  // Half the read rate and a quarter of the write rate take 0.75 of the time: 4/3 slower.
  EXPECT_EQ(after(60, {.read = 50 * kMiB, .written = 25 * kMiB / 2}), "");
}

TEST_F(Paced, JudgesTransfersAndNotWhatIsBetweenThem) {
  EXPECT_EQ(after(60, {}, false), "");
  EXPECT_EQ(after(4, {}), "") << "too short to judge";
}

TEST_F(Paced, JudgesByWhatIsExpectedLast) {
  pace_.expect({.read = 20.0 * kMiB, .write = 10.0 * kMiB, .slack = 4, .source = "measured"});
  EXPECT_EQ(after(60, {.read = 10 * kMiB, .written = 5 * kMiB}), "");
  pace_.expect({});
  EXPECT_EQ(after(60, {}), "") << "nothing is expected";
}

TEST_F(Paced, TakesAStoppedProcessForNoSlowDisk) {
  after(1, {.read = 100 * kMiB, .written = 0});
  now_ += 100;
  EXPECT_EQ(after(10, {.read = 100 * kMiB, .written = 0}), "");
}

}  // namespace
}  // namespace zero::state
