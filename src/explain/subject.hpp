#pragma once

#include <optional>
#include <string>

#include "src/explain/levers.hpp"
#include "zero/advise/placement.hpp"
#include "zero/explain/explain.hpp"
#include "zero/report/measured.hpp"
#include "zero/train/start_model.hpp"

namespace zero::explain {

/// A configuration of the run, compiled as a launch would.
struct Compiled {
  setup::World world;
  advise::Placement placement;

  const setup::Build& build() const { return placement.build; }
};

/// A run and the machine that its steps tell of.
class Subject {
 public:
  /// Compiles the run's own plan and fits the rates. Throws as explain().
  Subject(const model::Catalogue& catalogue, const std::string& run);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const report::Measured& measured() const { return measured_; }
  const plan::Machine& machine() const { return fitted_; }
  const advise::MemoryLimit& limit() const { return limit_; }
  const Compiled& own() const { return *own_; }
  /// Returns the forecast seconds of the run's own step.
  double own_seconds() const { return own_seconds_; }
  /// Returns the run as changes depend on it. It views this subject.
  Present present() const;

  /// Compiles and forecasts the run with these settings.
  Trial trial(const Settings& settings);

 private:
  Compiled compile(const Settings& settings);
  void choose_machine(const RunConfig& config);
  void admit_own();
  /// Returns the machine for a rank of so many threads.
  plan::Machine machine_of(int threads) const;

  const model::Catalogue& catalogue_;
  std::string run_;
  report::Measured measured_;
  bool gpus_;
  train::StartModel start_;
  plan::Machine base_, fitted_;
  advise::MemoryLimit limit_;
  std::optional<Compiled> own_;
  double own_seconds_ = 0;
  double beside_seconds_ = 0;  ///< of a step beside its plan: the next batch, lines, the vote
};

}  // namespace zero::explain
