#pragma once
/// What changes from step to step, as data on the device: a plan is compiled once and replayed, so
/// kernels read these structs instead of taking such numbers as arguments.

#include <cstdint>

#include "zero/base/exact_sum.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Written by the host before each body of the plan; read-only to kernels.
struct StepInputs {
  uint64_t seed;
  int64_t step;            ///< this attempt, counted from 1
  int64_t first_sample;    ///< samples consumed before this step, over all ranks
  int64_t counted_tokens;  ///< targets that count in this step, over all ranks and micro-batches
  int32_t pending;         ///< 1: the gradients of `pending_step` wait for decide()
  int32_t reserved;
  int64_t pending_step;
  int64_t pending_tokens;  ///< counted_tokens of `pending_step`
};

/// Written by the host before each body of a plan that continues texts; read-only to kernels.
struct DecodeInputs {
  int64_t rows;        ///< that are tokens, at least 1; those after them are padding
  int64_t moves = 0;   ///< CacheMoves that come first
  int64_t logits = 0;  ///< rows whose logits are wanted
};

/// Where a row of a chunk stands. Each text that is continued has a cache, and each source.
struct ChunkRow {
  int32_t text;             ///< whose cache holds the tokens in front of it
  int32_t position;         ///< in that text, from 0 on
  int32_t source = 0;       ///< that an encoder has read for it
  int32_t source_keys = 0;  ///< tokens of that source
};

/// Tokens [begin, end) of a text's cache are copied to those of another text.
struct CacheMove {
  int32_t from, to;
  int32_t begin, end;
};

/// Sums of one step over rows, blocks, micro-batches and, after an all-reduce of its int64 words,
/// ranks. Exact, so no order of adding matters.
struct StepSums {
  ExactSum grad_squares;   ///< of the finished gradient in compute dtype, still loss-scaled
  ExactSum loss;           ///< of the counted targets, in nats, not normalised
  int64_t nonfinite;       ///< gradient blocks that hold an infinity or a NaN
  int64_t nonfinite_loss;  ///< rows whose loss is not finite

  static constexpr int64_t kWords = 2 * ExactSum::kLimbs + 2;
};
static_assert(sizeof(StepSums) == 8 * StepSums::kWords);

/// One line of the log: what became of an attempt.
struct StepReport {
  int64_t step;
  double loss;       ///< nats a counted token
  double grad_norm;  ///< L2 norm over the whole model, unscaled; NaN or infinity on an overflow
  float learning_rate;
  float loss_scale;  ///< the one this attempt used
  int32_t skipped;
  int32_t skipped_in_row;
  int32_t scale_exhausted;  ///< fp16: overflow with the scale already at its minimum
  int32_t reserved;
};

/// Device-resident decisions; goes into checkpoints as it is.
struct StepState {
  // Loss-scale automaton (zero for bf16 and fp32 but loss_scale, which is 1).
  float loss_scale;
  int32_t hysteresis_left;
  int64_t scaler_iteration;
  int64_t last_overflow;
  // Optimizer clock: counts applied updates only.
  int64_t updates;
  double beta1_power;  ///< beta1^updates
  double beta2_power;
  // The decision about the pending attempt, read by the optimizer kernels.
  int32_t apply;          ///< 0: every state keeps its value
  float grad_multiplier;  ///< 1 / loss scale, times the clip factor
  float learning_rate;
  float unbias1;       ///< 1 / (1 - beta1^t)
  float unbias2_sqrt;  ///< sqrt(1 - beta2^t)
  int32_t skipped_in_row;
  StepReport report;
};

/// A unit's update that is made before its decision, in host memory beside its two copies of the
/// optimizer's states, which take turns.
struct Speculation {
  int64_t second;  ///< 1: the states are in their second copies
  int64_t made;    ///< 1: the other copies have the update by `guess`, which waits for its decision
  int64_t rest;    ///< attempts that pass without a guess, behind one that was wrong
  StepState guess;
};

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

/// Returns what decide() leaves of a state if the attempt in progress is neither clipped nor
/// skipped, in all that an update reads; on the host, in memory that it reaches.
StepState guess_decision(const DecideRule& rule, const StepState& state);

/// True if an update by `guess` is that by `decided`, to the bit.
bool is_same_update(const StepState& guess, const StepState& decided);

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
