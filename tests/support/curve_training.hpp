#pragma once
/// Steps of AdamW against a curve that PyTorch made in float64, through a compiled plan.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "tests/support/golden.hpp"
#include "tests/support/tiny_training.hpp"

namespace zero::testing {

/// Sums of one step, over all micro-batches.
struct StepResult {
  double loss;
  double norm;
};

/// A golden curve's optimizer on one plan.
class CurveTraining {
 public:
  /// Returns a parameter's first weights without padding rows.
  using Weights =
      std::function<std::vector<float>(const graph::Graph&, const graph::Parameter& parameter)>;
  /// Fills the inputs of a step, counted from 1. Returns the counted tokens or samples.
  using Fill = std::function<int64_t(Machine&, const plan::Plan&, int64_t step)>;

  CurveTraining(const GoldenCurve& curve, plan::Plan plan, const Weights& weights, Fill fill)
      : curve_(curve),
        rate_(float(curve.lr)),
        plan_(std::move(plan)),
        machine_(plan_, rules()),
        fill_(std::move(fill)) {
    for (int rank = 0; rank < plan_.request.ranks; ++rank) {
      *machine_.view<kernels::StepState>(rank, plan_.step_state) =
          kernels::initial_step_state(rules().decide);
      for (const plan::Unit& unit : plan_.units) fill_weights(unit, rank, weights);
    }
  }

  StepResult step(int64_t number) {
    kernels::StepInputs inputs{};
    inputs.seed = 1;
    inputs.step = number;
    inputs.pending_step = number - 1;
    inputs.counted_tokens = fill_(machine_, plan_, number);
    inputs.pending = number > 1;
    inputs.pending_tokens = counted_before_;
    counted_before_ = inputs.counted_tokens;
    machine_.run(plan::kStep, inputs);
    const auto* sums = machine_.view<kernels::StepSums>(0, plan_.step_sums());
    return {sums->loss.value() / double(inputs.counted_tokens),
            std::sqrt(sums->grad_squares.value())};
  }

  void expect_curve() {
    ASSERT_EQ(curve_.loss.size(), 20u);
    for (size_t i = 0; i < curve_.loss.size(); ++i) {
      const StepResult result = step(int64_t(i) + 1);
      EXPECT_NEAR(result.loss / curve_.loss[i], 1, 1e-4) << "step " << i + 1;
      EXPECT_NEAR(result.norm / curve_.norm[i], 1, 1e-3) << "step " << i + 1;
    }
  }

 private:
  run::Rules rules() {
    run::Rules rules;
    rules.decide.clip = curve_.gradient_clipping;
    rules.decide.beta1 = curve_.beta1;
    rules.decide.beta2 = curve_.beta2;
    rules.decide.learning_rates = &rate_;
    rules.decide.learning_rate_count = 1;
    rules.optimizer.settings = {.betas = {float(curve_.beta1), float(curve_.beta2)},
                                .eps = curve_.eps};
    return rules;
  }

  void fill_weights(const plan::Unit& unit, int rank, const Weights& weights) {
    float* const own = machine_.view<float>(rank, unit.weight);
    const int64_t begin = unit.weight_sharded ? rank * unit.shard_numel : 0;
    const int64_t end = begin + (unit.weight_sharded ? unit.shard_numel : unit.numel);
    const graph::Graph& graph = plan_.graphs[0];
    for (const plan::UnitParameter& place : unit.parameters) {
      const std::vector<float> values = weights(graph, graph.parameters[size_t(place.parameter)]);
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t at = place.begin + int64_t(i);
        if (at >= begin && at < end) own[at - begin] = values[i];
      }
    }
  }

  const GoldenCurve& curve_;
  float rate_;
  plan::Plan plan_;
  ThreadRanks machine_;
  Fill fill_;
  int64_t counted_before_ = 0;
};

/// Calls `train(ranks, stage)` for some of both.
template <class Train>
void on_every_stage(const Train& train) {
  for (const auto& [ranks, stage] : {std::pair{1, 0}, {2, 1}, {4, 2}, {2, 3}}) {
    SCOPED_TRACE(text(ranks, " ranks, stage ", stage));
    train(ranks, stage);
  }
}

}  // namespace zero::testing
