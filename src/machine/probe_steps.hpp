#pragma once
/// Steps of a small model show the share of its rates that a machine reaches.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/machine/measured_steps.hpp"
#include "zero/comm/communicator.hpp"
#include "zero/model/family.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::machine {

/// The training steps of a probe on this rank alone, beside their forecast by a machine's rates.
/// The rates hold for large products and long streams. Steps also hold attention, small products
/// and functions that memory does not limit.
class ProbeSteps {
 public:
  ProbeSteps(const model::Probe& probe, const plan::Machine& machine, int threads, Dtype compute);

  double expected() const { return expected_; }  ///< forecast seconds of a step
  int64_t ops() const;                           ///< ops of the compute lane in a step

  /// Returns the seconds of one step; 0 if the forecast is above a second.
  double step();
  /// Takes a step and returns its forecast over its seconds; 0 if the forecast is above a second.
  double share_of_a_step();
  /// Returns forecast over measured seconds of each op kind without exponentials, by the median of
  /// all steps; 0 if it took no time.
  std::map<std::string, double> shares_of_kinds() const;
  /// Returns the seconds of an exponential of each kind, by the median of all steps: the time
  /// beyond the kind's products at the share that "linear" has in `machine`, or 0.
  std::map<std::string, double> exponentials_of_kinds(plan::Machine machine) const;
  /// Takes a step and returns its random numbers over the seconds that their op kinds take beyond
  /// forecast; 0 if they take no longer.
  double draws_a_second();

 private:
  double median_of(const std::string& kind) const;

  const std::unique_ptr<comm::Communicator> comm_;
  const plan::Plan plan_;
  const double expected_;
  const std::map<std::string, plan::KindForecast, std::less<>> kinds_;
  std::optional<MeasuredSteps> training_;
  std::map<std::string, std::vector<double>> seconds_;  ///< [steps] by op kind
};

}  // namespace zero::machine
