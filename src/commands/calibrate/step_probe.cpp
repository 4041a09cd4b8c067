#include "src/commands/calibrate/step_probe.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "zero/compile/compile.hpp"
#include "zero/graph/passes.hpp"
#include "zero/state/timed_steps.hpp"

namespace zero::commands {
namespace {

constexpr int kSteps = 4;
constexpr double kMostSeconds = 1;

plan::Plan make_plan(const model::Probe& probe, int threads, Dtype compute) {
  const graph::Graph forward =
      model::forward(probe.model, {.micro = probe.micro, .compute = compute, .training = true});
  return plan::compile({.compute = compute, .threads = threads}, graph::differentiate(forward), {});
}

}  // namespace

double measure_step_share(const model::Probe& probe, const plan::Machine& machine, int threads,
                          Dtype compute) {
  const plan::Plan plan = make_plan(probe, threads, compute);
  const double expected = plan::forecast(plan, machine).step_seconds;
  if (expected > kMostSeconds) return 0;
  const std::unique_ptr<comm::Communicator> comm = comm::make_self();
  run::LaneComms lanes{};
  for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm.get();
  state::TimedSteps training(plan, 0, lanes);
  training.step();  // the first one makes libraries ready for its shapes
  std::vector<double> seconds;
  for (int step = 0; step < kSteps; ++step) seconds.push_back(training.step());
  std::sort(seconds.begin(), seconds.end());
  return expected / seconds[seconds.size() / 2];
}

}  // namespace zero::commands
