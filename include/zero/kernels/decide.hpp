#pragma once

#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// Dynamic loss scaling; enabled = false means a constant scale of `initial_scale`.
struct LossScaling {
  bool enabled = false;  ///< fp16 with a dynamic scale
  float initial_scale = 1.0f;
  int64_t window = 1000;
  int32_t hysteresis = 2;
  bool consecutive_hysteresis = false;
  float min_scale = 1.0f;
};

struct DecideRule {
  LossScaling scaling;
  double clip = 0.0;  ///< largest allowed gradient norm; 0: no clipping
  double beta1 = 0.9, beta2 = 0.999;
  const float* learning_rates = nullptr;  ///< device, [learning_rate_count], indexed by updates
  int64_t learning_rate_count = 0;        ///< the last entry serves every later update
};

/// The state before the first step of a run.
StepState initial_step_state(const DecideRule& rule);

/// One update of the automaton alone, as DeepSpeed's DynamicLossScaler does (loss_scaler.py):
/// an overflow uses up hysteresis, then halves the scale; `window` good steps after the last
/// overflow double it. Returns true when an overflow came with the scale at its minimum.
bool update_loss_scale(const LossScaling& rule, bool overflow, StepState& state);

/// Turns the sums of the pending attempt into a decision: norm, overflow, clip factor, next loss
/// scale, learning rate, bias corrections, report; then clears `sums`. With inputs->pending == 0 it
/// only sets apply = 0 and clears.
///
///   inputs [1] read   sums [1] read, then cleared   state [1] updated       all on the device
///
/// Clip factor: c = (norm + 1e-6) / clip; gradients are divided by c where c > 1 (DeepSpeed,
/// unscale_and_clip_grads). An attempt with a non-finite gradient or loss is skipped in every
/// precision; learning rate, beta powers and `updates` then stand still.
/// Asynchronous on `stream`.
void decide(Stream& stream, const DecideRule& rule, const StepInputs* inputs, StepSums* sums,
            StepState* state);

}  // namespace zero::kernels
