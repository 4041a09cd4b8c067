#pragma once
/// Numbers that change from step to step, as data on the device. A plan is compiled once and
/// replayed, so kernels read these structs instead of arguments.

#include <cstdint>
#include <limits>

#include "zero/base/exact_sum.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The largest loss and gradient norm of an attempt that is applied. Infinity: any finite one is.
struct SpikeLimits {
  double loss = std::numeric_limits<double>::infinity();
  double grad_norm = std::numeric_limits<double>::infinity();
};

/// The inputs of a step: the host writes them before each body, kernels read them.
struct StepInputs {
  uint64_t seed;
  int64_t step;            ///< number of this attempt, counted from 1
  int64_t first_sample;    ///< samples consumed before this step, over all ranks
  int64_t counted_tokens;  ///< targets that count in this step, over all ranks and micro-batches
  int32_t pending;         ///< 1: the gradients of `pending_step` wait for decide()
  int16_t rejected;        ///< 1: decide() skips `pending_step`, whose gradients are wrong
  int16_t audited;         ///< 1: digest() adds up gradients
  int64_t pending_step;
  int64_t pending_tokens;   ///< counted_tokens of `pending_step`
  SpikeLimits limits = {};  ///< limits of `pending_step`
};

/// The inputs of a plan that continues texts: the host writes them before each body, kernels read
/// them.
struct DecodeInputs {
  int64_t rows;        ///< rows that are tokens, at least 1; later rows are padding
  int64_t moves = 0;   ///< CacheMoves to make first
  int64_t logits = 0;  ///< rows that need logits
};

/// The place of a row of a chunk. Each continued text has a cache, and so has each source.
struct ChunkRow {
  int32_t text;             ///< text whose cache holds the tokens before this row
  int32_t position;         ///< place in that text, from 0
  int32_t source = 0;       ///< source that an encoder has read for this row
  int32_t source_keys = 0;  ///< tokens of that source
};

/// A copy of tokens [begin, end) from one text's cache to another's.
struct CacheMove {
  int32_t from, to;
  int32_t begin, end;
};

/// The sums of one step over rows, blocks and micro-batches. An all-reduce of the int64 words adds
/// them over ranks. Sums are exact, so no order of adding matters.
struct StepSums {
  ExactSum grad_squares;   ///< squares of the finished gradient in compute dtype, still loss-scaled
  ExactSum loss;           ///< losses of the counted targets, in nats, not normalised
  int64_t nonfinite;       ///< gradient blocks that hold an infinity or a NaN
  int64_t nonfinite_loss;  ///< rows whose loss is not finite

  static constexpr int64_t kWords = 2 * ExactSum::kLimbs + 2;
};
static_assert(sizeof(StepSums) == 8 * StepSums::kWords);

/// A line of the log: the result of an attempt.
struct StepReport {
  int64_t step;
  double loss;       ///< nats per counted token; NaN if a row's loss is not finite
  double grad_norm;  ///< L2 norm of the model, unscaled; infinity if a gradient is not finite
  float learning_rate;
  float loss_scale;  ///< loss scale of this attempt
  int32_t skipped;
  int32_t skipped_in_row;   ///< attempts in a row that were not finite; 0 after a spike
  int32_t scale_exhausted;  ///< 1: fp16 overflow with the scale at its minimum
  int32_t spike;            ///< 1: skipped because loss or norm are above their limits
};

/// The decisions that stay on the device. Checkpoints store them as they are.
struct StepState {
  // Loss scaling: all 0 for bf16 and fp32, except loss_scale, which is 1.
  float loss_scale;
  int32_t hysteresis_left;
  int64_t scaler_iteration;
  int64_t last_overflow;
  // Optimizer clock: counts applied updates only.
  int64_t updates;
  double beta1_power;  ///< beta1^updates
  double beta2_power;
  // Decision about the pending attempt, read by the optimizer kernels.
  int32_t apply;          ///< 0: every state keeps its value
  float grad_multiplier;  ///< 1 / loss scale, times the clip factor
  float learning_rate;
  float unbias1;       ///< 1 / (1 - beta1^t)
  float unbias2_sqrt;  ///< sqrt(1 - beta2^t)
  int32_t skipped_in_row;
  StepReport report;
};

/// A unit's update that is made before its decision. It lies in host memory, beside two copies of
/// the optimizer states, which take turns.
struct Speculation {
  int64_t second;  ///< 1: the states are in their second copies
  int64_t made;    ///< 1: the other copies hold the update by `guess`, not yet decided
  int64_t rest;    ///< attempts still to pass without a guess, after a wrong one
  StepState guess;
};

/// The rule of dynamic loss scaling. Unless enabled, the scale stays at `initial_scale`.
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
  int64_t learning_rate_count = 0;        ///< entries; the last one serves every later update
};

/// Returns the state before the first step of a run with this rule.
StepState initial_step_state(const DecideRule& rule);

/// Advances the loss scale in `state` by one attempt, with or without an overflow, as DeepSpeed's
/// DynamicLossScaler does (loss_scaler.py). An overflow uses up hysteresis, then halves the scale.
/// `window` good steps after the last overflow double it. Returns true if an overflow came with the
/// scale at its minimum.
bool update_loss_scale(const LossScaling& rule, bool overflow, StepState& state);

/// Returns the state that decide() makes of `state` if the attempt in progress is neither clipped
/// nor skipped. They agree in all that an update reads. REQUIRES: the host can read `state` and
/// rule.learning_rates.
StepState guess_decision(const DecideRule& rule, const StepState& state);

/// True if optimizer updates by the states `guess` and `decided` have the same bits.
bool is_same_update(const StepState& guess, const StepState& decided);

/// Decides by `rule` about the pending attempt from its sums, then clears `sums`. Sets norm,
/// overflow, clip factor, next loss scale, learning rate, bias corrections and report. With
/// inputs->pending == 0, only sets apply = 0 and clears.
///
///   inputs [1] read   sums [1] read, then cleared   state [1] updated       all on the device
///
/// The clip factor is c = (norm + 1e-6) / clip. Gradients are divided by c where c > 1 (DeepSpeed,
/// unscale_and_clip_grads). In every precision, an attempt with a non-finite gradient or loss is
/// skipped, and so is a finite one above inputs->limits, and one that is inputs->rejected. The loss
/// scale takes no notice of these two, and skipped_in_row none of a rejected one. Learning rate,
/// beta powers and `updates` then stand still. Asynchronous on `stream`.
void decide(Stream& stream, const DecideRule& rule, const StepInputs* inputs, StepSums* sums,
            StepState* state);

}  // namespace zero::kernels
