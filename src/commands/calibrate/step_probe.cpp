#include "src/commands/calibrate/step_probe.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "zero/device/device.hpp"
#include "zero/graph/differentiate.hpp"
#include "zero/model/gpt2.hpp"
#include "zero/train/timed_steps.hpp"

namespace zero::commands {
namespace {

struct Probe {
  model::Gpt2 model;
  graph::MicroBatch micro;
};

/// On a host a block of the smallest GPT-2 under a short table; a device is filled by larger ones
/// only.
Probe probe_of() {
  if (drives_devices()) {
    return {{.layers = 4, .width = 1600, .heads = 25, .vocabulary = 8192, .positions = 1024},
            {.samples = 4, .length = 1024}};
  }
  return {{.layers = 1, .width = 768, .heads = 12, .vocabulary = 4096, .positions = 256},
          {.samples = 2, .length = 256}};
}

constexpr int kSteps = 4;
constexpr double kMostSeconds = 1;

plan::Plan make_plan(int threads, Dtype compute) {
  const Probe probe = probe_of();
  const graph::Graph forward =
      model::gpt2(probe.model, {.micro = probe.micro, .compute = compute, .training = true});
  return plan::compile({.compute = compute, .threads = threads}, graph::differentiate(forward), {});
}

}  // namespace

double measure_step_share(const plan::Machine& machine, int threads, Dtype compute) {
  const plan::Plan plan = make_plan(threads, compute);
  const double expected = plan::forecast(plan, machine).step_seconds;
  if (expected > kMostSeconds) return 0;
  const std::unique_ptr<comm::Communicator> comm = comm::make_self();
  run::LaneComms lanes{};
  for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm.get();
  train::TimedSteps training(plan, 0, lanes);
  training.step();  // the first one makes libraries ready for its shapes
  std::vector<double> seconds;
  for (int step = 0; step < kSteps; ++step) seconds.push_back(training.step());
  std::sort(seconds.begin(), seconds.end());
  return expected / seconds[seconds.size() / 2];
}

}  // namespace zero::commands
