#include "src/commands/calibrate/step_probe.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "zero/graph/differentiate.hpp"
#include "zero/model/gpt2.hpp"
#include "zero/run/executor.hpp"
#include "zero/train/initial_weights.hpp"

namespace zero::commands {
namespace {

/// A block of the smallest GPT-2 under a short table.
constexpr model::Gpt2 kModel{
    .layers = 1, .width = 768, .heads = 12, .vocabulary = 4096, .positions = 256};
constexpr graph::MicroBatch kMicro{.samples = 2, .length = 256};
constexpr int kSteps = 4;
constexpr double kMostSeconds = 1;

plan::Plan make_plan(int threads, Dtype compute) {
  const graph::Graph forward =
      model::gpt2(kModel, {.micro = kMicro, .compute = compute, .training = true});
  return plan::compile({.compute = compute, .threads = threads}, graph::differentiate(forward), {});
}

/// One rank that trains without data: every token is the next one's id.
class Training {
 public:
  explicit Training(const plan::Plan& plan) : plan_(plan), comm_(comm::make_self()) {
    rules_.decide.learning_rates = &rate_;
    rules_.decide.learning_rate_count = 1;
    run::LaneComms lanes{};
    for (const plan::Lane lane : plan::kCollectiveLanes) lanes[size_t(lane)] = comm_.get();
    executor_ = std::make_unique<run::Executor>(plan_, rules_, lanes);
    const train::StateView view{&plan_, 0, [this](int32_t b) { return executor_->bytes(b); }};
    train::fill_initial_weights(view, 1, plan_.request.threads);
    executor_->values<kernels::StepState>(plan_.step_state)[0] =
        kernels::initial_step_state(rules_.decide);
    for (const int32_t buffer : plan_.tokens) count_up(buffer, 0);
    for (const int32_t buffer : plan_.targets) count_up(buffer, 1);
  }

  double step_seconds() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    executor_->run(plan::kStep, next_inputs());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  void count_up(int32_t buffer, int32_t first) {
    for (int32_t& id : executor_->values<int32_t>(buffer))
      id = first++ % int32_t(kModel.vocabulary);
  }

  kernels::StepInputs next_inputs() {
    ++step_;
    kernels::StepInputs inputs{};
    inputs.step = step_;
    inputs.counted_tokens = inputs.pending_tokens = kMicro.samples * kMicro.length;
    inputs.pending = step_ > 1;
    inputs.pending_step = step_ - 1;
    return inputs;
  }

  const plan::Plan& plan_;
  const float rate_ = 1e-4f;
  run::Rules rules_;
  std::unique_ptr<comm::Communicator> comm_;
  std::unique_ptr<run::Executor> executor_;
  int64_t step_ = 0;
};

}  // namespace

double measure_step_share(const plan::Machine& machine, int threads, Dtype compute) {
  const plan::Plan plan = make_plan(threads, compute);
  const double expected = plan::forecast(plan, machine).step_seconds;
  if (expected > kMostSeconds) return 0;
  Training training(plan);
  training.step_seconds();  // the first one makes libraries ready for its shapes
  std::vector<double> seconds;
  for (int step = 0; step < kSteps; ++step) seconds.push_back(training.step_seconds());
  std::sort(seconds.begin(), seconds.end());
  return expected / seconds[seconds.size() / 2];
}

}  // namespace zero::commands
