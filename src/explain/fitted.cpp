#include "src/explain/fitted.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace zero::explain {
namespace {

using plan::Lane;
using Kinds = std::map<std::string, plan::KindForecast, std::less<>>;

/// Overhead of an op where no machine file states one.
constexpr double kMostOpSeconds = 5e-6;
/// Bounds of a share. Times outside come from other work than the op's.
constexpr double kLeastShare = 1e-6, kMostShare = 1e6;

constexpr std::string_view kSums[] = {"accumulate", "carry", "round_sum", "clear"};

bool is_sum(std::string_view kind) { return std::ranges::find(kSums, kind) != std::end(kSums); }

/// True if a kind belongs to forward or backward, or adds gradients beside them.
bool is_of_graph(const plan::Plan& plan, std::string_view kind) {
  if (is_sum(kind)) return true;
  for (int other = 0; other < int(plan::Kind::count_); ++other) {
    // An optimizer has no name for the ops that it does without.
    const char* const name = plan::name_of(plan::Kind(other), plan.request.optimizer);
    if (name != nullptr && kind == name) return false;
  }
  return true;
}

/// The seconds of each kind on the compute lane, and of each other lane, in a step.
struct Times {
  std::map<std::string, double, std::less<>> kinds = {};
  std::array<double, plan::kLanes> lanes{};

  double sum() const {
    double all = 0;
    for (const auto& [name, seconds] : kinds) all += seconds;
    for (const double seconds : lanes) all += seconds;
    return all;
  }
};

Times forecast_times(const plan::Plan& plan, const plan::Machine& machine) {
  Times times;
  for (const auto& [name, kind] : plan::kinds_of(plan, machine)) times.kinds[name] = kind.seconds;
  times.lanes = plan::forecast(plan, machine).lane_seconds;
  times.lanes[size_t(Lane::compute)] = 0;
  return times;
}

/// Returns the machine at its peak rates, without what an op takes beside its work.
plan::Machine bare(plan::Machine machine) {
  machine.kind_shares = {};
  machine.lane_shares = {};
  machine.exponential_seconds = {};
  machine.op_seconds = 0;
  machine.random_rate = 0;
  return machine;
}

double phase(const report::Measured& measured, const char* name) {
  const auto found = measured.phases.find(name);
  return found == measured.phases.end() ? 0 : found->second;
}

double busy_seconds(const report::Measured& measured) {
  double sum = 0;
  for (const auto& [name, seconds] : measured.phases) sum += seconds;
  return sum;
}

/// Returns the times by kind and lane of the launch, whose sum is that of the middle step, because
/// the first steps take longer; none if a kind of the plan is missing.
Times times_by_kind(const Kinds& kinds, const Times& forecast, const report::Measured& measured) {
  Times times;
  for (const auto& [name, kind] : kinds) {
    const auto found = measured.kinds.find(name);
    if (found == measured.kinds.end()) return {};
    times.kinds[name] = found->second.seconds / double(found->second.calls) * double(kind.calls);
  }
  for (size_t lane = 1; lane < times.lanes.size(); ++lane) {
    const auto found = measured.lanes.find(plan::name_of(Lane(lane)));
    if (forecast.lanes[lane] > 0 && found != measured.lanes.end())
      times.lanes[lane] = found->second;
  }
  const double scale = busy_seconds(measured) / times.sum();
  for (auto& [name, seconds] : times.kinds) seconds *= scale;
  for (double& seconds : times.lanes) seconds *= scale;
  return times;
}

/// Returns the times of all kinds and lanes by the phases that they are part of.
Times times_by_phase(const plan::Plan& plan, const Times& forecast,
                     const report::Measured& measured) {
  double graph = 0, updates = 0, sums = 0;
  for (const auto& [name, seconds] : forecast.kinds) {
    (is_of_graph(plan, name) ? graph : updates) += seconds;
    if (is_sum(name)) sums += seconds;
  }
  const size_t gather = size_t(Lane::gather), reduce = size_t(Lane::reduce);
  const double links = forecast.lanes[gather] + forecast.lanes[reduce];
  for (size_t lane = 0; lane < forecast.lanes.size(); ++lane) {
    if (lane != gather && lane != reduce) updates += forecast.lanes[lane];
  }
  const double on_graph = phase(measured, "forward") + phase(measured, "backward");
  const double by_graph = graph > sums ? on_graph / (graph - sums) : 1;
  const double moved = phase(measured, "reduce") + phase(measured, "gather") - by_graph * sums;
  // Without peers all that moves is moved by the lanes of updates.
  const double others = phase(measured, "optimizer") + (links > 0 ? 0 : std::max(0.0, moved));
  const double by_links = links > 0 ? std::max(moved, 0.0) / links : 0;
  const double by_updates = updates > 0 ? others / updates : 0;
  Times times;
  for (const auto& [name, seconds] : forecast.kinds)
    times.kinds[name] = seconds * (is_of_graph(plan, name) ? by_graph : by_updates);
  for (size_t lane = 0; lane < forecast.lanes.size(); ++lane) {
    const bool is_link = lane == gather || lane == reduce;
    times.lanes[lane] = forecast.lanes[lane] * (is_link ? by_links : by_updates);
  }
  return times;
}

double share(double forecast, double measured) {
  return measured > 0 ? std::clamp(forecast / measured, kLeastShare, kMostShare) : 1;
}

/// Returns the overhead of an op, which no kind of op undercuts.
double op_seconds_of(const plan::Machine& base, const Kinds& kinds, const Times& times) {
  double least = base.op_seconds > 0 ? base.op_seconds : kMostOpSeconds;
  for (const auto& [name, seconds] : times.kinds) {
    const auto calls = double(kinds.find(name)->second.calls);
    if (seconds > 0) least = std::min(least, 0.5 * seconds / calls);
  }
  return least;
}

/// Gives rates to what the plan lacks: of products, of memory, and of the lanes that are alike.
void fit_totals(const plan::Plan& plan, const Times& times, plan::Machine& machine) {
  const Times forecast = forecast_times(plan, machine);
  double product_work = 0, product_time = 0, memory_work = 0, memory_time = 0;
  for (const auto& [name, of_products] : bound_by_products(plan, machine)) {
    (of_products ? product_work : memory_work) += forecast.kinds.at(name);
    (of_products ? product_time : memory_time) += times.kinds.at(name);
  }
  if (product_work > 0) machine.product_flops *= share(product_work, product_time);
  if (memory_work > 0) machine.memory_bandwidth *= share(memory_work, memory_time);
  if (!machine.has_memory) machine.host_bandwidth = machine.memory_bandwidth;
}

/// Lanes that use one link, copy or disk.
constexpr std::array<std::array<Lane, 2>, 3> kAlike = {
    {{Lane::gather, Lane::reduce}, {Lane::h2d, Lane::d2h}, {Lane::disk_read, Lane::disk_write}}};

void fit_lanes(const Times& forecast, const Times& times, plan::Machine& machine) {
  for (size_t lane = 1; lane < times.lanes.size(); ++lane) {
    if (forecast.lanes[lane] > 0 && times.lanes[lane] > 0)
      machine.lane_shares[Lane(lane)] = share(forecast.lanes[lane], times.lanes[lane]);
  }
  for (const auto& [a, b] : kAlike) {
    const auto first = machine.lane_shares.find(a), second = machine.lane_shares.find(b);
    const auto none = machine.lane_shares.end();
    if (first == none && second != none) machine.lane_shares[a] = second->second;
    if (second == none && first != none) machine.lane_shares[b] = first->second;
  }
}

}  // namespace

std::map<std::string, bool, std::less<>> bound_by_products(const plan::Plan& plan,
                                                           const plan::Machine& machine) {
  plan::Machine products = machine, memory = machine;
  products.memory_bandwidth = kEndless;
  memory.product_flops = kEndless;
  const Kinds by_memory = plan::kinds_of(plan, memory);
  std::map<std::string, bool, std::less<>> bound;
  for (const auto& [name, kind] : plan::kinds_of(plan, products))
    bound[name] = kind.seconds > by_memory.at(name).seconds;
  return bound;
}

plan::Machine fitted_machine(const plan::Machine& base, const plan::Plan& plan,
                             const report::Measured& measured) {
  plan::Machine machine = bare(base);
  const Kinds kinds = plan::kinds_of(plan, machine);
  const Times peak = forecast_times(plan, machine);
  Times times = times_by_kind(kinds, peak, measured);
  if (times.kinds.empty()) times = times_by_phase(plan, peak, measured);
  fit_totals(plan, times, machine);
  const double op_seconds = op_seconds_of(base, kinds, times);
  const Times forecast = forecast_times(plan, machine);
  for (const auto& [name, seconds] : times.kinds) {
    const double calls = double(kinds.find(name)->second.calls);
    machine.kind_shares[name] = share(forecast.kinds.at(name), seconds - calls * op_seconds);
  }
  machine.op_seconds = op_seconds;
  fit_lanes(forecast, times, machine);
  return machine;
}

}  // namespace zero::explain
