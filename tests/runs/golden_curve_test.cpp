// Ranks: 1
// Twenty steps of AdamW against a curve that PyTorch made in float64 (tools/golden/gpt2_golden.py),
// through compiled plans on several stages and rank counts.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/golden.hpp"
#include "tests/support/tiny_plans.hpp"
#include "tests/support/tiny_training.hpp"

namespace zero::run {
namespace {

/// Sums of one step, over all micro-batches.
struct StepResult {
  double loss;
  double norm;
};

/// The golden model, data and optimizer on one plan.
class GoldenTraining {
 public:
  GoldenTraining(const testing::Golden& golden, int ranks, int stage)
      : golden_(golden), plan_(make_plan(golden, ranks, stage)), machine_(plan_, rules()) {
    for (int rank = 0; rank < ranks; ++rank) {
      *machine_.view<kernels::StepState>(rank, plan_.step_state) =
          kernels::initial_step_state(rules().decide);
      for (const plan::Unit& unit : plan_.units) fill_weights(unit, rank);
    }
  }

  StepResult step(int64_t number) {
    kernels::StepInputs inputs{};
    inputs.seed = 1;
    inputs.step = number;
    inputs.pending_step = number - 1;
    inputs.counted_tokens = fill_batches(number);
    inputs.pending = number > 1;
    inputs.pending_tokens = counted_before_;
    counted_before_ = inputs.counted_tokens;
    machine_.run(plan::kStep, inputs);
    const auto* sums = machine_.view<kernels::StepSums>(0, plan_.step_sums());
    return {sums->loss.value() / double(inputs.counted_tokens),
            std::sqrt(sums->grad_squares.value())};
  }

 private:
  static plan::Plan make_plan(const testing::Golden& golden, int ranks, int stage) {
    testing::TinyModel model;
    model.gpt2 = {.layers = golden.layers,
                  .width = golden.width,
                  .heads = golden.heads,
                  .vocabulary = golden.vocabulary,
                  .positions = golden.length};
    model.micro = {.samples = golden.batch, .length = golden.length};
    const int micro_batches = int(golden.curve->micro_batches) / ranks;
    return testing::tiny_plan({.stage = stage,
                               .ranks = ranks,
                               .micro_batches = micro_batches,
                               .weight_decay = float(golden.curve->weight_decay)},
                              model);
  }

  Rules rules() {
    rate_ = float(golden_.curve->lr);
    Rules rules;
    rules.decide.clip = golden_.curve->gradient_clipping;
    rules.decide.beta1 = golden_.curve->beta1;
    rules.decide.beta2 = golden_.curve->beta2;
    rules.decide.learning_rates = &rate_;
    rules.decide.learning_rate_count = 1;
    rules.optimizer.settings = {.betas = {float(golden_.curve->beta1), float(golden_.curve->beta2)},
                                .eps = golden_.curve->eps};
    return rules;
  }

  int64_t tensor_index(const std::string& name) const {
    for (size_t i = 0; i < golden_.tensors.size(); ++i) {
      if (golden_.tensors[i].name == name) return int64_t(i);
    }
    throw Error(Exit::kInternal, "no golden tensor " + name);
  }

  void fill_weights(const plan::Unit& unit, int rank) {
    float* weights = machine_.view<float>(rank, unit.weight);
    const int64_t begin = unit.weight_sharded ? rank * unit.shard_numel : 0;
    const int64_t end = begin + (unit.weight_sharded ? unit.shard_numel : unit.numel);
    for (const plan::UnitParameter& place : unit.parameters) {
      const graph::Graph& graph = plan_.graphs[0];
      const graph::Parameter& parameter = graph.parameters[size_t(place.parameter)];
      const std::vector<float> values =
          testing::golden_weights(golden_, tensor_index(graph[parameter.tensor].name));
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t at = place.begin + int64_t(i);
        if (at >= begin && at < end) weights[at - begin] = values[i];
      }
    }
  }

  int64_t fill_batches(int64_t step) {
    int64_t counted = 0;
    for (int64_t i = 0; i < golden_.curve->micro_batches; ++i) {
      const testing::GoldenBatch batch =
          testing::golden_batch(golden_, testing::golden_stream(*golden_.curve, step - 1, i));
      const int rank = int(i % plan_.request.ranks);
      const int micro = int(i / plan_.request.ranks);
      std::copy(batch.tokens.begin(), batch.tokens.end(),
                testing::inputs_of(machine_, rank, plan_.input(0, "tokens"), micro));
      std::copy(batch.targets.begin(), batch.targets.end(),
                testing::inputs_of(machine_, rank, plan_.input(0, "targets"), micro));
      counted += batch.counted;
    }
    return counted;
  }

  const testing::Golden& golden_;
  float rate_ = 0;
  plan::Plan plan_;
  testing::ThreadRanks machine_;
  int64_t counted_before_ = 0;
};

TEST(GoldenCurve, TwentyStepsFollowFloat64OnEveryStage) {
  const testing::Golden golden = testing::load_golden("gpt2_a");
  ASSERT_TRUE(golden.curve.has_value());
  ASSERT_EQ(golden.curve->loss.size(), 20u);
  for (const auto& [ranks, stage] : {std::pair{1, 0}, {2, 1}, {4, 2}, {2, 3}}) {
    SCOPED_TRACE(text(ranks, " ranks, stage ", stage));
    GoldenTraining training(golden, ranks, stage);
    for (size_t i = 0; i < golden.curve->loss.size(); ++i) {
      const StepResult result = training.step(int64_t(i) + 1);
      EXPECT_NEAR(result.loss / golden.curve->loss[i], 1, 1e-4) << "step " << i + 1;
      EXPECT_NEAR(result.norm / golden.curve->norm[i], 1, 1e-3) << "step " << i + 1;
    }
  }
}

}  // namespace
}  // namespace zero::run
