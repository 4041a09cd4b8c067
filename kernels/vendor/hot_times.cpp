#include "kernels/vendor/hot_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zero::kernels::vendor {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

/// Returns the contenders to measure under load, the fastest first.
std::vector<size_t> finalists_of(std::span<const float> cool, const HotRules& rules) {
  std::vector<size_t> all;
  for (size_t i = 0; i < cool.size(); ++i)
    if (cool[i] < kNever) all.push_back(i);
  std::ranges::stable_sort(all, {}, [&](size_t i) { return cool[i]; });
  std::erase_if(all, [&](size_t i) { return cool[i] > rules.within * cool[all.front()]; });
  all.resize(std::min(all.size(), rules.finalists));
  return all;
}

int runs_in(double microseconds, float one_run) {
  const double runs = std::ceil(microseconds / std::max(double(one_run), 1.0));
  return int(std::clamp(runs, 1.0, double(kHotRunsMost)));
}

/// Runs a contender for `microseconds`, in several bursts if one is too short.
void load(size_t contender, float one_run, const RunBurst& run, double microseconds) {
  for (double done = 0; done < microseconds;) {
    const float took = run(contender, runs_in(microseconds - done, one_run));
    if (!(took > 0 && took < kNever)) return;
    done += double(took);
  }
}

float median(std::vector<float> times) {
  const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace

std::vector<float> hot_times(std::span<const float> cool, const RunBurst& run,
                             const HotRules& rules) {
  std::vector<float> hot(cool.size(), kNever);
  std::vector<size_t> order = finalists_of(cool, rules);
  if (order.empty()) return hot;
  load(order.front(), cool[order.front()], run, rules.load);
  std::vector<std::vector<float>> times(cool.size());
  for (int turn = 0; turn < rules.turns; ++turn) {
    for (const size_t i : order) {
      const int count = runs_in(rules.turn, cool[i]);
      times[i].push_back(run(i, count) / float(count));
    }
    std::ranges::reverse(order);
  }
  for (const size_t i : order) hot[i] = median(times[i]);
  return hot;
}

}  // namespace zero::kernels::vendor
