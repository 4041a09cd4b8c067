// Ranks: 1
#include "zero/state/spike_window.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace zero::state {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

kernels::StepReport step_of(double loss, double grad_norm) {
  kernels::StepReport report{};
  report.loss = loss;
  report.grad_norm = grad_norm;
  return report;
}

kernels::StepReport spike() {
  kernels::StepReport report = step_of(100, 100);
  report.skipped = report.spike = 1;
  return report;
}

/// A window of losses 1, 3, 1, 3 ... (mean 2, deviation 1) and norms 10 and 14 (12 and 2).
SpikeWindow full_window(const SpikeRule& rule, int64_t steps = SpikeWindow::kSteps) {
  SpikeWindow window(rule);
  for (int64_t i = 0; i < steps; ++i) window.hear(i % 2 == 0 ? step_of(1, 10) : step_of(3, 14));
  return window;
}

TEST(SpikeWindow, LimitsAreMeanAndDeviations) {
  const kernels::SpikeLimits limits = full_window({.factor = 5, .most_in_row = 3}).limits();
  EXPECT_NEAR(limits.loss, 2 + 5 * 1, 1e-12);
  EXPECT_NEAR(limits.grad_norm, 12 + 5 * 2, 1e-12);
}

TEST(SpikeWindow, JudgesNothingBeforeItIsFullNorWhenOff) {
  const SpikeRule rule{.factor = 5, .most_in_row = 3};
  EXPECT_EQ(full_window(rule, SpikeWindow::kSteps - 1).limits().loss, kInfinity);
  SpikeWindow off = full_window({});
  EXPECT_EQ(off.limits().grad_norm, kInfinity);
  EXPECT_TRUE(off.content().steps.empty());
}

TEST(SpikeWindow, ForgetsTheOldestStep) {
  SpikeWindow window = full_window({.factor = 5, .most_in_row = 3});
  for (int64_t i = 0; i < SpikeWindow::kSteps; ++i) window.hear(step_of(7, 8));
  EXPECT_EQ(window.limits().loss, 7);
  EXPECT_EQ(window.limits().grad_norm, 8);
}

TEST(SpikeWindow, SkippedStepsChangeNoLimitButTheirNumberEndsIt) {
  SpikeWindow window = full_window({.factor = 5, .most_in_row = 3});
  const kernels::SpikeLimits before = window.limits();
  for (int i = 0; i < 2; ++i) window.hear(spike());
  EXPECT_EQ(window.limits().loss, before.loss);
  kernels::StepReport overflow = step_of(1, kInfinity);
  overflow.skipped = 1;
  window.hear(overflow);
  EXPECT_EQ(window.limits().loss, kInfinity) << "the next step is applied, whatever it is";
  EXPECT_EQ(window.content().spikes, 2);
  window.hear(step_of(3, 14));
  EXPECT_LT(window.limits().loss, kInfinity);
}

TEST(SpikeWindow, GoesOnFromTheContentOfAnother) {
  SpikeWindow one = full_window({.factor = 5, .most_in_row = 3});
  for (int i = 0; i < 7; ++i) one.hear(step_of(1.0 / (3 + i), 1.0 / 7));
  one.hear(spike());
  SpikeWindow other({.factor = 5, .most_in_row = 3});
  other.set_content(one.content());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.limits().loss, other.limits().loss);
    EXPECT_EQ(one.limits().grad_norm, other.limits().grad_norm);
    for (SpikeWindow* window : {&one, &other}) window->hear(step_of(1.0 / (11 + i), 0.1));
  }
  EXPECT_EQ(other.content().spikes, 1);
}

TEST(SpikeWindow, HearsWithoutAnAllocation) {
  SpikeWindow window({.factor = 5, .most_in_row = 3});
  const SpikeWindow::Step* const memory = window.content().steps.data();
  for (int64_t i = 0; i < 2 * SpikeWindow::kSteps; ++i) window.hear(step_of(1, 2));
  EXPECT_EQ(window.content().steps.data(), memory);
}

}  // namespace
}  // namespace zero::state
