#include <algorithm>
#include <array>

#include "src/compile/passes.hpp"
#include "zero/compile/compile.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::plan {
namespace {

constexpr double kWorthwhile = 1.05;
constexpr double kWorthStreaming = 1.02;
constexpr int kTries = 9;
/// With more units in memory than this share, most of what was to leave it would stay there.
constexpr double kMostShare = 0.75;

/// Forecasts of one request under different depths.
class Depths {
 public:
  Depths(const Request& request, const graph::Graph& training, const Machine& machine)
      : request_(request), training_(training), machine_(machine) {}

  int all() const { return int(training_.unit_names.size()); }

  /// Both directions at once take as long as compute.
  void assume_slow_disk() {
    const Forecast made = forecast(plan(all()), machine_);
    const double compute = made.lane_seconds[size_t(Lane::compute)];
    const DiskForecast& disk = made.disk[kStep];
    if (disk.bytes_read > 0) machine_.disk_read_bandwidth = double(disk.bytes_read) / compute;
    if (disk.bytes_written > 0) {
      machine_.disk_write_bandwidth = double(disk.bytes_written) / compute;
    }
  }

  Forecast made_with(int units) const { return forecast(plan(units), machine_); }

 private:
  Plan plan(int units) const {
    Request request = request_;
    request.staged_units = units;
    return compile_unproved(request, training_, {});
  }

  Request request_;
  const graph::Graph& training_;
  Machine machine_;
};

}  // namespace

int staged_units_for(const Request& request, const graph::Graph& training, const Machine& machine) {
  Depths depths(request, training, machine);
  const bool on_disk = request.optimizer_home == Tier::nvme || request.weight_home == Tier::nvme;
  if (on_disk && !machine.disk_is_measured) depths.assume_slow_disk();
  const int least = std::min(kLeastStagedUnits, depths.all());
  const int more = std::max(least, int(kMostShare * depths.all())) - least;
  const Forecast first = depths.made_with(least);
  std::array<double, kTries> seconds = {first.step_seconds};
  const auto busiest = std::max_element(first.lane_seconds.begin(), first.lane_seconds.end());
  if (first.step_seconds <= kWorthwhile * *busiest) return least;
  const auto units_of = [&](int i) { return least + more * i / (kTries - 1); };
  for (int i = 1; i < kTries; ++i) seconds[size_t(i)] = depths.made_with(units_of(i)).step_seconds;
  const double allowed = kWorthwhile * *std::min_element(seconds.begin(), seconds.end());
  const auto fewest =
      std::find_if(seconds.begin(), seconds.end(), [&](double taken) { return taken <= allowed; });
  return units_of(int(fewest - seconds.begin()));
}

double device_update_share_for(const Request& request, const graph::Graph& training,
                               const Machine& machine) {
  if (request.optimizer_home == Tier::device || !machine.has_memory) return 0;
  std::array<double, kDeviceUpdateParts + 1> seconds;
  for (int part = 0; part <= kDeviceUpdateParts; ++part) {
    Request tried = request;
    tried.device_update_share = double(part) / kDeviceUpdateParts;
    const Plan plan = compile_unproved(tried, training, {});
    seconds[size_t(part)] = forecast(plan, machine).step_seconds;
  }
  const double allowed = kWorthStreaming * *std::min_element(seconds.begin(), seconds.end());
  const auto least =
      std::find_if(seconds.begin(), seconds.end(), [&](double taken) { return taken <= allowed; });
  return double(least - seconds.begin()) / kDeviceUpdateParts;
}

}  // namespace zero::plan
