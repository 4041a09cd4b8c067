#include "zero/state/spike_window.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "zero/base/error.hpp"

namespace zero::state {
namespace {

/// Returns mean + factor x standard deviation of a member, added up from the oldest step on.
double limit_of(std::span<const SpikeWindow::Step> steps, double SpikeWindow::Step::*member,
                double factor) {
  double mean = 0, squares = 0, count = 0;
  for (const SpikeWindow::Step& step : steps) {
    const double apart = step.*member - mean;
    mean += apart / ++count;
    squares += apart * (step.*member - mean);
  }
  return mean + factor * std::sqrt(squares / count);
}

}  // namespace

SpikeWindow::SpikeWindow(const SpikeRule& rule) : rule_(rule) {
  if (is_on()) content_.steps.reserve(size_t(kSteps));
}

void SpikeWindow::hear(const kernels::StepReport& report) {
  if (!is_on()) return;
  content_.spikes += report.spike;
  content_.skipped_in_row = report.skipped ? content_.skipped_in_row + 1 : 0;
  if (report.skipped) return;
  if (std::ssize(content_.steps) == kSteps) content_.steps.erase(content_.steps.begin());
  content_.steps.push_back({report.loss, report.grad_norm});
}

kernels::SpikeLimits SpikeWindow::limits() const {
  const bool judges =
      std::ssize(content_.steps) == kSteps && content_.skipped_in_row < rule_.most_in_row;
  if (!is_on() || !judges) return {};
  return {.loss = limit_of(content_.steps, &Step::loss, rule_.factor),
          .grad_norm = limit_of(content_.steps, &Step::grad_norm, rule_.factor)};
}

void SpikeWindow::set_content(const Content& content) {
  ZERO_REQUIRE(std::ssize(content.steps) <= kSteps, "a window of ", content.steps.size(),
               " steps, at most ", kSteps);
  content_.steps.assign(content.steps.begin(), content.steps.end());
  content_.skipped_in_row = content.skipped_in_row;
  content_.spikes = content.spikes;
}

}  // namespace zero::state
