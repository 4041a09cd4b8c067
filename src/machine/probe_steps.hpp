#pragma once
/// Steps of a small model, which show what share of its rates a machine reaches.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zero/comm/communicator.hpp"
#include "zero/model/family.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/timed_steps.hpp"

namespace zero::machine {

/// The training steps of a probe on this rank alone, beside their forecast by a machine's rates.
/// Peaks are those of large products and long streams; steps also hold attention, small products
/// and functions that memory does not wait for.
class ProbeSteps {
 public:
  ProbeSteps(const model::Probe& probe, const plan::Machine& machine, int threads, Dtype compute);

  double expected() const { return expected_; }  ///< seconds of a step by forecast
  int64_t ops() const;                           ///< of the compute lane in a step

  /// Returns the seconds of one step; 0 where it would take longer than a second.
  double step();
  /// Returns the forecast of a step over the seconds of one; 0 likewise.
  double share_of_a_step();
  /// Returns the same share of each kind of op without exponentials, the median of all steps; 0 of
  /// what took no time.
  std::map<std::string, double> shares_of_kinds() const;
  /// Returns what each exponential of a kind takes, likewise: the time beyond that of the kind's
  /// products at the share that "linear" has in `machine`; 0 where there is none.
  std::map<std::string, double> exponentials_of_kinds(plan::Machine machine) const;
  /// Returns how many random numbers one step draws in a second of what the kinds of op that draw
  /// take beyond their forecast; 0 where they take no longer.
  double draws_a_second();

 private:
  double median_of(const std::string& kind) const;

  const std::unique_ptr<comm::Communicator> comm_;
  const plan::Plan plan_;
  const double expected_;
  const std::map<std::string, plan::KindForecast, std::less<>> kinds_;
  std::optional<state::TimedSteps> training_;
  std::map<std::string, std::vector<double>> seconds_;  ///< of each step, by kind of op
};

}  // namespace zero::machine
