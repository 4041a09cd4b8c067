// Ranks: 1

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "zero/base/error.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {
namespace {

/// Steps from a scale of 2^5: '.' is good, 'x' overflows, 'X' overflows at the least scale and must
/// be reported. `exponents` are those of the scale after each step.
struct Sequence {
  int32_t hysteresis;
  bool consecutive;
  int64_t window;
  int least_exponent;
  std::string steps;
  std::string exponents;
};

// What DeepSpeed's DynamicLossScaler does; each ends where DeepSpeed would stop the run.
const std::vector<Sequence> kSequences{
    {1, false, 2, 0, "......", "556677"},
    {1, false, 2, 0, "x.....", "444556"},
    {1, false, 2, 0, "xx.x..", "433222"},
    {1, false, 2, 0, ".x.x.x", "544332"},
    {1, false, 2, 0, "..x...x...", "5544454445"},
    {1, false, 2, 0, "...x......", "5565556677"},
    {1, false, 2, 0, "xxxxxX", "432100"},
    {1, false, 2, 0, "x...xx....", "4445433344"},
    {1, false, 1, 0, ".....", "56789"},
    {1, false, 1, 0, "x....", "44567"},
    {1, false, 1, 0, "x.x..x...", "443343345"},
    {1, false, 1, 0, "..xx....", "56544567"},
    {1, false, 4, 3, "xxX", "433"},
    {1, false, 4, 3, "xx....X", "4333333"},
    {1, false, 4, 3, "x.....x.....xx", "44444544444543"},
    {1, false, 4, 3, "..........", "5555666677"},
    {1, false, 4, 3, "....x....x.....", "555544444333334"},
    {2, false, 2, 0, "x.....", "555667"},
    {2, false, 2, 0, "xx....", "544455"},
    {2, false, 2, 0, "x.x...", "554445"},
    {2, false, 2, 0, "x...x.x.", "55566655"},
    {2, false, 2, 0, "xx...xx...", "5444554445"},
    {2, false, 2, 0, ".x..x...x...", "555544455556"},
    {2, false, 2, 0, "xxxx....", "54322233"},
    {2, false, 2, 0, "x..x..x..x..", "555444333222"},
    {2, false, 4, 0, "x..........x", "555556666777"},
    {2, false, 4, 0, "x.......x", "555556666"},
    {2, false, 4, 0, "xx....x....x", "544444333332"},
    {2, false, 4, 0, "x....x....x....", "555554444433333"},
    {2, true, 2, 0, "x.x.x.x.", "55555555"},
    {2, true, 2, 0, "xx.x.xx...", "5444443334"},
    {2, true, 2, 0, "x.....", "555667"},
    {2, true, 2, 0, "xxx...xx", "54333443"},
    {3, false, 3, 2, "xxx......", "554444555"},
    {3, false, 3, 2, "xx...x...x", "5555544443"},
    {3, false, 3, 2, "xxxxxX", "554322"},
    {3, false, 3, 2, "x.x.x.....x", "55554444555"},
    {3, true, 3, 0, "xx.xx.xx.", "555555555"},
    {3, true, 3, 0, "xxx....xxx....", "55444455544445"},
    {3, true, 3, 0, "x..xxx.......", "5555544445556"},
};

TEST(UpdateLossScale, FollowsFortyHandMadeSequences) {
  ASSERT_EQ(kSequences.size(), 40u);
  for (const Sequence& sequence : kSequences) {
    const LossScaling rule{.enabled = true,
                           .initial_scale = 32.0f,
                           .window = sequence.window,
                           .hysteresis = sequence.hysteresis,
                           .consecutive_hysteresis = sequence.consecutive,
                           .min_scale = std::ldexp(1.0f, sequence.least_exponent)};
    StepState state = initial_step_state({.scaling = rule});
    std::string exponents;
    for (const char step : sequence.steps) {
      EXPECT_EQ(update_loss_scale(rule, step != '.', state), step == 'X') << sequence.steps;
      exponents += char('0' + std::ilogb(state.loss_scale));
    }
    EXPECT_EQ(exponents, sequence.exponents)
        << sequence.steps << " with hysteresis " << sequence.hysteresis << ", window "
        << sequence.window;
  }
}

TEST(UpdateLossScale, HalvingEndsAtALeastScaleThatIsNoPowerOfTwo) {
  const LossScaling rule{.enabled = true, .initial_scale = 8.0f, .hysteresis = 1, .min_scale = 3};
  StepState state = initial_step_state({.scaling = rule});
  EXPECT_FALSE(update_loss_scale(rule, true, state));
  EXPECT_EQ(state.loss_scale, 4.0f);
  EXPECT_FALSE(update_loss_scale(rule, true, state));
  EXPECT_EQ(state.loss_scale, 3.0f);
  EXPECT_TRUE(update_loss_scale(rule, true, state));
  EXPECT_EQ(state.loss_scale, 3.0f);
}

/// decide() over attempts of a run with learning rates 0.5, 0.25 and 0.125.
struct TinyRun {
  std::vector<float> rates{0.5f, 0.25f, 0.125f};
  DecideRule rule;
  StepInputs inputs{};
  StepSums sums{};
  StepState state;

  explicit TinyRun(DecideRule given = {}) : rule(given) {
    rule.learning_rates = rates.data();
    rule.learning_rate_count = 3;
    inputs.pending = 1;
    inputs.pending_step = 7;
    inputs.pending_tokens = 4;
    state = initial_step_state(rule);
  }
  /// An attempt whose gradient squares and losses sum to these.
  const StepState& attempt(double squares, double loss = 8.0) {
    sums.grad_squares.add(squares);
    sums.loss.add(loss);
    Stream stream(1);
    decide(stream, rule, &inputs, &sums, &state);
    stream.wait();
    return state;
  }
};

TEST(Decide, ReportsNormLossAndRateOfTheAttempt) {
  TinyRun run({.scaling = {.initial_scale = 4.0f}});
  const StepState& state = run.attempt(144.0);  // scaled norm 12, so the gradient's is 3
  EXPECT_EQ(state.report.step, 7);
  EXPECT_EQ(state.report.grad_norm, 3.0);
  EXPECT_EQ(state.report.loss, 2.0);
  EXPECT_EQ(state.report.learning_rate, 0.5f);
  EXPECT_EQ(state.report.loss_scale, 4.0f);
  EXPECT_EQ(state.report.skipped, 0);
  EXPECT_EQ(state.apply, 1);
  EXPECT_EQ(state.grad_multiplier, 0.25f);
}

TEST(Decide, ClipsOnlyWhatIsTooLarge) {
  DecideRule rule;
  rule.clip = 2.0;
  TinyRun run(rule);
  EXPECT_EQ(run.attempt(1.0).grad_multiplier, 1.0f);
  EXPECT_FLOAT_EQ(run.attempt(64.0).grad_multiplier, float(2.0 / (8.0 + 1e-6)));
}

TEST(Decide, SkipsWhatIsAboveALimitAndLeavesTheLossScale) {
  TinyRun run({.scaling = {.enabled = true, .initial_scale = 4.0f, .window = 1}});
  run.inputs.limits = {.loss = 2.0, .grad_norm = 3.0};
  EXPECT_EQ(run.attempt(144.0).report.skipped, 0) << "both are at their limits";
  const StepState before = run.state;
  EXPECT_EQ(before.loss_scale, 4.0f);
  for (const auto& [squares, loss] : {std::pair{145.0, 8.0}, std::pair{144.0, 8.5}}) {
    const StepState& state = run.attempt(squares, loss);
    EXPECT_EQ(state.report.skipped, 1);
    EXPECT_EQ(state.report.spike, 1);
    EXPECT_EQ(state.report.skipped_in_row, 0) << "it is finite";
    EXPECT_EQ(state.apply, 0);
    EXPECT_EQ(state.updates, before.updates);
    EXPECT_EQ(state.beta1_power, before.beta1_power);
    EXPECT_EQ(state.loss_scale, before.loss_scale);
    EXPECT_EQ(state.scaler_iteration, before.scaler_iteration);
  }
  EXPECT_EQ(run.attempt(std::numeric_limits<double>::max()).report.spike, 1);
  run.sums.nonfinite = 1;
  EXPECT_EQ(run.attempt(144.0).report.spike, 0) << "an overflow is none";
  EXPECT_EQ(run.state.report.skipped, 1);
}

TEST(Decide, SkipsWhatIsRejectedAndLeavesTheLossScaleAndTheStreak) {
  TinyRun run({.scaling = {.enabled = true, .initial_scale = 4.0f, .window = 1}});
  run.sums.nonfinite = 1;
  run.attempt(1.0);
  const StepState before = run.state;
  run.inputs.rejected = 1;
  for (const int64_t nonfinite : {0, 1}) {
    run.sums.nonfinite = nonfinite;
    const StepState& state = run.attempt(1.0);
    EXPECT_EQ(state.report.skipped, 1);
    EXPECT_EQ(state.report.spike, 0);
    EXPECT_EQ(state.apply, 0);
    EXPECT_EQ(state.updates, before.updates);
    EXPECT_EQ(state.skipped_in_row, 1) << "its numbers tell nothing";
    EXPECT_EQ(state.loss_scale, before.loss_scale);
    EXPECT_EQ(state.scaler_iteration, before.scaler_iteration);
  }
}

TEST(Decide, CorrectsTheBiasOfAppliedUpdates) {
  TinyRun run;
  run.attempt(1.0);
  EXPECT_FLOAT_EQ(run.state.unbias1, 10.0f);  // 1 / (1 - 0.9)
  EXPECT_FLOAT_EQ(run.state.unbias2_sqrt, float(std::sqrt(0.001)));
  run.attempt(1.0);
  EXPECT_FLOAT_EQ(run.state.unbias1, float(1 / 0.19));
  EXPECT_EQ(run.state.updates, 2);
}

TEST(Decide, TheLastRateServesEveryLaterUpdate) {
  TinyRun run;
  std::vector<float> rates;
  for (int i = 0; i < 5; ++i) rates.push_back(run.attempt(1.0).learning_rate);
  EXPECT_EQ(rates, (std::vector<float>{0.5f, 0.25f, 0.125f, 0.125f, 0.125f}));
}

TEST(Decide, AnOverflowSkipsAndTheClockStandsStill) {
  TinyRun run({.scaling = {.enabled = true, .initial_scale = 16.0f, .hysteresis = 1}});
  run.attempt(1.0);
  run.sums.nonfinite = 1;
  const StepState& state = run.attempt(1.0);
  EXPECT_EQ(state.apply, 0);
  EXPECT_EQ(state.updates, 1);
  EXPECT_EQ(state.beta1_power, 0.9);
  EXPECT_EQ(state.loss_scale, 8.0f);
  EXPECT_EQ(state.report.skipped, 1);
  EXPECT_EQ(state.report.skipped_in_row, 1);
  EXPECT_EQ(state.report.loss_scale, 16.0f);
  EXPECT_TRUE(std::isinf(state.report.grad_norm));
  run.sums.nonfinite = 1;
  EXPECT_EQ(run.attempt(1.0).report.skipped_in_row, 2);
  run.attempt(1.0);
  EXPECT_EQ(run.state.apply, 1);
  EXPECT_EQ(run.state.learning_rate, 0.25f);
  EXPECT_EQ(run.state.report.skipped_in_row, 0);
}

TEST(Decide, ANonFiniteLossSkipsInEveryPrecisionAndKeepsAConstantScale) {
  TinyRun run;
  run.sums.nonfinite_loss = 3;
  EXPECT_EQ(run.attempt(1.0).apply, 0);
  EXPECT_TRUE(std::isnan(run.state.report.loss));
  EXPECT_EQ(run.state.loss_scale, 1.0f);
  EXPECT_EQ(run.state.updates, 0);
}

TEST(Decide, ReportsAnOverflowAtTheLeastScale) {
  TinyRun run({.scaling = {.enabled = true, .initial_scale = 1.0f, .hysteresis = 1}});
  run.sums.nonfinite = 1;
  EXPECT_EQ(run.attempt(0.0).report.scale_exhausted, 1);
  EXPECT_EQ(run.attempt(1.0).report.scale_exhausted, 0);
}

TEST(Decide, ClearsTheSumsForTheNextStep) {
  TinyRun run;
  run.sums.nonfinite_loss = 1;
  run.attempt(5.0);
  EXPECT_EQ(run.sums.grad_squares.value(), 0.0);
  EXPECT_EQ(run.sums.loss.value(), 0.0);
  EXPECT_EQ(run.sums.nonfinite_loss, 0);
}

TEST(Decide, WithNothingPendingItOnlyForbidsAndClears) {
  TinyRun run;
  run.attempt(1.0);
  const StepState before = run.state;
  run.inputs.pending = 0;
  run.inputs.pending_step = 8;
  run.attempt(9.0);
  EXPECT_EQ(run.state.apply, 0);
  EXPECT_EQ(run.state.updates, before.updates);
  EXPECT_EQ(run.state.report.step, before.report.step);
  EXPECT_EQ(run.sums.grad_squares.value(), 0.0);
}

TEST(Decide, RefusesAnEmptyTableOfRates) {
  TinyRun run;
  run.rule.learning_rate_count = 0;
  EXPECT_THROW(run.attempt(1.0), Error);
}

}  // namespace
}  // namespace zero::kernels
