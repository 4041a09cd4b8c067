#include "src/machine/measured_steps.hpp"

#include <algorithm>
#include <chrono>
#include <span>

#include "zero/io/data/dataset.hpp"
#include "zero/state/state_view.hpp"

namespace zero::machine {
namespace {

run::Rules rules_of(const float& rate) {
  run::Rules rules;
  rules.decide.learning_rates = &rate;
  rules.decide.learning_rate_count = 1;
  return rules;
}

/// Counts up from `first`, within an input's ids. An input without ids says that all `tokens` of a
/// sample count.
void fill_input(run::Buffers& buffers, const plan::Plan& plan, const plan::InputBuffer& input,
                int64_t first, int64_t tokens) {
  const int64_t bytes = plan.buffers[size_t(input.buffer)].bytes;
  buffers.fill<std::byte>(input.buffer, bytes, [&](std::span<std::byte> all) {
    std::ranges::fill(all, std::byte{0});
    for (int32_t& number : values_in<int32_t>(all))
      number = int32_t(input.ids == 0 ? tokens : first++ % input.ids);
  });
}

}  // namespace

MeasuredSteps::MeasuredSteps(const plan::Plan& plan, int rank, const run::LaneComms& comms,
                             const run::LaneDisks& disks)
    : plan_(plan), rules_(rules_of(rate_)), executor_(plan, rules_, comms, disks) {
  state::fill_initial_weights(state::view_of(plan, rank, executor_.buffers()), 1,
                              plan.request.threads);
  const kernels::StepState state = kernels::initial_step_state(rules_.decide);
  executor_.buffers().write(plan.step_state, 0, std::as_bytes(std::span(&state, 1)));
  int64_t first = 0, tokens = 0;  // a column of counts follows that of its tokens
  for (const plan::InputBuffer& input : plan.inputs) {
    const bool is_data = input.graph == 0 && input.filled_by == graph::FilledBy::data;
    if (is_data) fill_input(executor_.buffers(), plan, input, first++, tokens);
    tokens = input.bytes / int64_t(sizeof(int32_t)) / std::max<int64_t>(1, plan.graphs[0].samples);
  }
}

double MeasuredSteps::step() {
  ++step_;
  return run(plan::kStep);
}

double MeasuredSteps::finish() {
  ++step_;
  return run(plan::kFinish);
}

double MeasuredSteps::run(plan::BodyId body) {
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

}  // namespace zero::machine
