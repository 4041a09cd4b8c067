#include "src/machine/probe_steps.hpp"

#include <algorithm>

#include "zero/compile/compile.hpp"
#include "zero/graph/graph_passes.hpp"
#include "zero/model/recipe.hpp"

namespace zero::machine {
namespace {

plan::Plan plan_of(const model::Probe& probe, int threads, Dtype compute) {
  const graph::Graph forward = model::graph_of({.model = probe.model}, model::Purpose::probe,
                                               {.micro = probe.micro, .compute = compute});
  return plan::compile({.compute = compute, .threads = threads}, graph::differentiate(forward), {});
}

}  // namespace

ProbeSteps::ProbeSteps(const model::Probe& probe, const plan::Machine& machine, int threads,
                       Dtype compute)
    : comm_(comm::make_self()),
      plan_(plan_of(probe, threads, compute)),
      expected_(plan::forecast(plan_, machine).step_seconds),
      kinds_(plan::kinds_of(plan_, machine)) {
  constexpr double kMostSeconds = 1;
  if (expected_ > kMostSeconds) return;
  run::LaneComms lanes{};
  for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm_.get();
  training_.emplace(plan_, 0, lanes);
  training_->step();  // readies libraries for its shapes
}

int64_t ProbeSteps::ops() const {
  int64_t ops = 0;
  for (const auto& [name, kind] : kinds_) ops += kind.calls;
  return ops;
}

double ProbeSteps::step() {
  if (!training_) return 0;
  training_->executor().clear_profile();
  const double seconds = training_->step();
  for (const run::Executor::Profile& kind : training_->executor().profile())
    seconds_[kind.name].push_back(kind.seconds);
  return seconds;
}

double ProbeSteps::share_of_a_step() { return training_ ? expected_ / step() : 0; }

std::map<std::string, double> ProbeSteps::shares_of_kinds() const {
  std::map<std::string, double> shares;
  for (const auto& [name, kind] : kinds_) {
    const double taken = median_of(name);
    if (kind.exponentials == 0) shares[name] = taken > 0 ? kind.seconds / taken : 0;
  }
  return shares;
}

std::map<std::string, double> ProbeSteps::exponentials_of_kinds(plan::Machine machine) const {
  std::map<std::string, double> seconds;
  for (const auto& [name, kind] : kinds_)
    if (kind.exponentials > 0) machine.exponential_seconds[name] = 0;
  for (const auto& [name, products] : plan::kinds_of(plan_, machine)) {
    if (products.exponentials == 0) continue;
    const double beyond = median_of(name) - products.seconds;
    seconds[name] = std::max(0.0, beyond / double(products.exponentials));
  }
  return seconds;
}

double ProbeSteps::draws_a_second() {
  if (step() == 0) return 0;
  double draws = 0, seconds = 0;
  for (const auto& [name, kind] : kinds_) {
    if (kind.draws == 0) continue;
    draws += double(kind.draws);
    seconds += seconds_.at(name).back() - kind.seconds;
  }
  return seconds > 0 ? draws / seconds : 0;
}

double ProbeSteps::median_of(const std::string& kind) const {
  const auto found = seconds_.find(kind);
  if (found == seconds_.end()) return 0;
  std::vector<double> sorted = found->second;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace zero::machine
