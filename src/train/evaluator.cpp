#include "zero/train/evaluator.hpp"

#include <limits>

#include "zero/train/batch_loader.hpp"

namespace zero::train {

state::Evaluation evaluate(state::Engine& engine, const Dataset& validation, int rank,
                           const kernels::StepInputs& inputs) {
  const plan::Plan& plan = engine.plan();
  const int64_t micro = plan.graphs[1].samples;
  const int32_t loss = plan.output(1, graph::kLossOutput);
  ExactSum total;
  total.clear();
  int64_t nonfinite = 0;
  state::Evaluation result{.step = inputs.step,
                           .tokens = validation.counted(0, validation.samples())};
  for (int64_t first = 0; first < validation.samples(); first += micro * plan.request.ranks) {
    load_samples(engine, 1, validation, first + rank * micro, micro);
    engine.run(plan::kEvaluate, inputs);
    result.seconds += engine.last_seconds();
    kernels::StepSums sums;
    engine.executor().buffers().read(loss, 0, std::as_writable_bytes(std::span(&sums, 1)));
    total.add(sums.loss);
    nonfinite += sums.nonfinite_loss;
  }
  result.loss = nonfinite > 0 ? std::numeric_limits<double>::quiet_NaN()
                              : total.value() / double(result.tokens);
  return result;
}

}  // namespace zero::train
