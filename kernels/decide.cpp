#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/support/elements.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::decide";

KOKKOS_INLINE_FUNCTION bool on_overflow(const LossScaling& rule, StepState& state) {
  bool exhausted = false;
  if (rule.hysteresis == 1 || state.hysteresis_left == 1) {
    exhausted = state.loss_scale == rule.min_scale;
    state.loss_scale = Kokkos::max(state.loss_scale / 2, rule.min_scale);
  } else {
    --state.hysteresis_left;
  }
  state.last_overflow = state.scaler_iteration;
  return exhausted;
}

KOKKOS_INLINE_FUNCTION void on_good_step(const LossScaling& rule, StepState& state) {
  if (rule.consecutive_hysteresis) state.hysteresis_left = rule.hysteresis;
  const int64_t stable = state.scaler_iteration - state.last_overflow - 1;
  if (stable <= 0 || stable % rule.window != 0) return;
  state.hysteresis_left = rule.hysteresis;
  state.loss_scale *= 2;
}

KOKKOS_INLINE_FUNCTION bool advance_scale(const LossScaling& rule, bool overflow,
                                          StepState& state) {
  const bool exhausted = overflow && on_overflow(rule, state);
  if (!overflow) on_good_step(rule, state);
  ++state.scaler_iteration;
  return exhausted;
}

/// Sets the members that the optimizer kernels read, for an attempt that counts.
KOKKOS_INLINE_FUNCTION void apply_update(const DecideRule& rule, double norm, StepState& state) {
  const double excess = rule.clip > 0 ? (norm + 1e-6) / rule.clip : 0.0;
  const double divisor = double(state.loss_scale) * (excess > 1.0 ? excess : 1.0);
  state.grad_multiplier = float(1.0 / divisor);
  state.beta1_power *= rule.beta1;
  state.beta2_power *= rule.beta2;
  state.unbias1 = float(1.0 / (1.0 - state.beta1_power));
  state.unbias2_sqrt = float(std::sqrt(1.0 - state.beta2_power));
  ++state.updates;
}

/// Returns the report of the pending attempt. REQUIRES: loss scale and updates have not advanced.
KOKKOS_INLINE_FUNCTION StepReport report_of(const DecideRule& rule, const StepInputs& inputs,
                                            const StepSums& sums, const StepState& state) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const int64_t rate = Kokkos::min(state.updates, rule.learning_rate_count - 1);
  StepReport report{};
  report.step = inputs.pending_step;
  report.loss = sums.nonfinite_loss > 0      ? kNaN
                : inputs.pending_tokens == 0 ? 0.0
                                             : sums.loss.value() / double(inputs.pending_tokens);
  report.grad_norm = sums.nonfinite > 0
                         ? kInfinity
                         : std::sqrt(sums.grad_squares.value()) / double(state.loss_scale);
  report.learning_rate = rule.learning_rates[rate];
  report.loss_scale = state.loss_scale;
  return report;
}

KOKKOS_INLINE_FUNCTION bool is_above(const StepReport& report, const SpikeLimits& limits) {
  return report.loss > limits.loss || report.grad_norm > limits.grad_norm;
}

KOKKOS_INLINE_FUNCTION void decide_pending(const DecideRule& rule, const StepInputs& inputs,
                                           const StepSums& sums, StepState& state) {
  StepReport report = report_of(rule, inputs, sums, state);
  const bool rejected = inputs.rejected != 0;
  const bool overflow = !rejected && (sums.nonfinite > 0 || sums.nonfinite_loss > 0);
  const bool spike = !rejected && !overflow && is_above(report, inputs.limits);
  state.apply = rejected || overflow || spike ? 0 : 1;
  state.learning_rate = report.learning_rate;
  if (!rejected) state.skipped_in_row = overflow ? state.skipped_in_row + 1 : 0;
  if (state.apply) apply_update(rule, report.grad_norm, state);
  const bool is_scaled = rule.scaling.enabled && !spike && !rejected;
  report.scale_exhausted = is_scaled && advance_scale(rule.scaling, overflow, state);
  report.skipped = !state.apply;
  report.spike = spike;
  report.skipped_in_row = state.skipped_in_row;
  state.report = report;
}

KOKKOS_INLINE_FUNCTION void clear(StepSums& sums) {
  sums.grad_squares.clear();
  sums.loss.clear();
  sums.nonfinite = 0;
  sums.nonfinite_loss = 0;
}

}  // namespace

StepState initial_step_state(const DecideRule& rule) {
  StepState state{};
  state.loss_scale = rule.scaling.initial_scale;
  state.hysteresis_left = rule.scaling.enabled ? rule.scaling.hysteresis : 0;
  state.last_overflow = rule.scaling.enabled ? -1 : 0;
  state.beta1_power = 1.0;
  state.beta2_power = 1.0;
  return state;
}

bool update_loss_scale(const LossScaling& rule, bool overflow, StepState& state) {
  return advance_scale(rule, overflow, state);
}

StepState guess_decision(const DecideRule& rule, const StepState& state) {
  StepState guess = state;
  guess.apply = 1;
  guess.learning_rate = rule.learning_rates[std::min(state.updates, rule.learning_rate_count - 1)];
  apply_update(rule, 0.0, guess);
  return guess;
}

bool is_same_update(const StepState& guess, const StepState& decided) {
  const auto read_by_updates = [](const StepState& state) {
    return std::array{uint64_t(state.apply),
                      uint64_t(state.updates),
                      uint64_t(std::bit_cast<uint32_t>(state.grad_multiplier)),
                      uint64_t(std::bit_cast<uint32_t>(state.learning_rate)),
                      uint64_t(std::bit_cast<uint32_t>(state.unbias1)),
                      uint64_t(std::bit_cast<uint32_t>(state.unbias2_sqrt))};
  };
  return read_by_updates(guess) == read_by_updates(decided);
}

void decide(Stream& stream, const DecideRule& rule, const StepInputs* inputs, StepSums* sums,
            StepState* state) {
  ZERO_REQUIRE(rule.learning_rates != nullptr && rule.learning_rate_count >= 1, "decide() with ",
               rule.learning_rate_count, " learning rates: needs at least 1");
  for_each_element(
      stream, kLabel, 1, KOKKOS_LAMBDA(int64_t) {
        state->apply = 0;
        if (inputs->pending != 0) decide_pending(rule, *inputs, *sums, *state);
        clear(*sums);
      });
}

}  // namespace zero::kernels
