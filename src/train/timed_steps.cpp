#include "zero/train/timed_steps.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include "zero/train/initial_weights.hpp"
#include "zero/train/state_view.hpp"

namespace zero::train {
namespace {

run::Rules rules_of(const float& rate) {
  run::Rules rules;
  rules.decide.learning_rates = &rate;
  rules.decide.learning_rate_count = 1;
  return rules;
}

}  // namespace

TimedSteps::TimedSteps(const plan::Plan& plan, int rank, const run::LaneComms& comms,
                       const run::LaneDisks& disks)
    : plan_(plan), rules_(rules_of(rate_)), executor_(plan, rules_, comms, disks) {
  fill_initial_weights(view_of(plan, rank, executor_), 1, plan.request.threads);
  const kernels::StepState state = kernels::initial_step_state(rules_.decide);
  executor_.write(plan.step_state, 0, std::as_bytes(std::span(&state, 1)));
  const int64_t vocabulary = plan.graphs[0].vocabulary;
  const auto count_up = [&](int32_t buffer, int64_t first) {
    const int64_t numel = plan.buffers[size_t(buffer)].bytes / int64_t(sizeof(int32_t));
    executor_.fill<int32_t>(buffer, numel, [&](std::span<int32_t> ids) {
      for (int32_t& id : ids) id = int32_t(first++ % vocabulary);
    });
  };
  count_up(plan.tokens, 0);
  count_up(plan.targets, 1);
}

double TimedSteps::step() {
  ++step_;
  return run(plan::kStep);
}

double TimedSteps::finish() {
  ++step_;
  return run(plan::kFinish);
}

double TimedSteps::run(plan::BodyId body) {
  const graph::Graph& graph = plan_.graphs[0];
  kernels::StepInputs inputs{};
  inputs.seed = 1;
  inputs.step = step_;
  inputs.counted_tokens = inputs.pending_tokens =
      graph.samples * graph.length * plan_.request.ranks * plan_.request.micro_batches;
  inputs.pending = step_ > 1;
  inputs.pending_step = step_ - 1;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  executor_.run(body, inputs);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace zero::train
