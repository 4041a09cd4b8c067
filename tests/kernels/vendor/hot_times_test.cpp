// Ranks: 1

#include "kernels/vendor/hot_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace zero::kernels::vendor {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

/// A device whose clock falls to `hot_clock` of its own when it has worked for 50 ms without a
/// rest. A run takes `fixed` microseconds, as memory does, and `scaled` at the full clock.
struct FakeDevice {
  struct Work {
    float fixed, scaled;
  };
  std::vector<Work> works;
  double hot_clock = 0.5, busy = 0;
  std::vector<size_t> order = {};
  std::vector<double> lengths = {};

  double clock() const { return busy >= 50e3 ? hot_clock : 1; }
  float run(size_t i, int count) {
    double took = 0;
    for (int n = 0; n < count; ++n) {
      const double one = double(works[i].fixed) + double(works[i].scaled) / clock();
      took += one;
      busy += one;
    }
    order.push_back(i);
    lengths.push_back(took);
    return float(took);
  }
  std::vector<float> cool() const {
    std::vector<float> times;
    for (const Work& work : works) times.push_back(work.fixed + work.scaled);
    return times;
  }
  std::vector<float> hot(const HotRules& rules = {}) {
    return hot_times(
        cool(), [this](size_t i, int count) { return run(i, count); }, rules);
  }
};

TEST(HotTimes, ChooseWhatIsFastestUnderLoadAndNotInABurst) {
  FakeDevice device{.works = {{.fixed = 0, .scaled = 100}, {.fixed = 90, .scaled = 15}}};
  const std::vector<float> hot = device.hot();
  EXPECT_FLOAT_EQ(hot[0], 200.0f);
  EXPECT_FLOAT_EQ(hot[1], 120.0f);
}

TEST(HotTimes, AreTakenInTurnsForthAndBackBehindALoad) {
  FakeDevice device{.works = {{0, 103}, {0, 100}}};
  device.hot();
  EXPECT_EQ(device.order, (std::vector<size_t>{1, 1, 0, 0, 1, 1, 0}));
  EXPECT_GE(device.lengths[0], 100e3);
  for (size_t i = 1; i < device.lengths.size(); ++i) {
    EXPECT_GE(device.lengths[i], 30e3);
    EXPECT_LE(device.lengths[i], 61e3) << "no more than the clock falls by";
  }
}

TEST(HotTimes, OfTheSlowAndOfThoseThatCannotRunAreNeverTaken) {
  FakeDevice device{.works = {{0, 100}, {0, 116}, {0, 101}, {0, 102}, {0, 103}, {0, 104}}};
  std::vector<float> cool = device.cool();
  cool[2] = kNever;
  const auto run = [&](size_t i, int count) { return device.run(i, count); };
  const std::vector<float> hot = hot_times(cool, run, {.finalists = 3});
  for (size_t i : {1u, 2u, 5u}) EXPECT_EQ(hot[i], kNever) << i;
  for (size_t i : {0u, 3u, 4u}) EXPECT_LT(hot[i], kNever) << i;
  EXPECT_TRUE(std::ranges::none_of(device.order, [](size_t i) { return i == 1 || i == 2; }));
}

TEST(HotTimes, OfATurnThatIsDisturbedAreNotKept) {
  int calls = 0;
  const auto run = [&](size_t, int count) { return float(count) * (++calls == 3 ? 900 : 100); };
  EXPECT_FLOAT_EQ(hot_times(std::vector<float>{100}, run)[0], 100.0f);
}

TEST(HotTimes, EndWhereTheFirstFailsOrTakesNoTime) {
  EXPECT_EQ(hot_times(std::vector<float>{5}, [](size_t, int) { return kNever; })[0], kNever);
  EXPECT_EQ(hot_times(std::vector<float>{5}, [](size_t, int) { return 0.0f; })[0], 0.0f);
  EXPECT_TRUE(hot_times({}, [](size_t, int) { return 1.0f; }).empty());
  EXPECT_EQ(hot_times(std::vector<float>{kNever}, [](size_t, int) { return 1.0f; })[0], kNever);
}

TEST(HotTimes, OfQuickRunsTakeSeveralBurstsOfLoad) {
  FakeDevice device{.works = {{0, 10}}};
  device.hot();
  size_t bursts = 0;
  for (const double length : device.lengths) {
    EXPECT_LE(length, 20.0 * kHotRunsMost);
    ++bursts;
  }
  EXPECT_GE(bursts, 3u + 6u);
}

}  // namespace
}  // namespace zero::kernels::vendor
