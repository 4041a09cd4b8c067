#pragma once
/// The number of steps of a training, and its learning rates.

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"

namespace zero {

/// Maximum number of steps. The learning rate of every step is stored in a table.
inline constexpr int64_t kMostRunSteps = 100'000'000;

/// Returns the last step of this launch under `config`, unless a signal comes: run.stop_at, or
/// run.steps if that is 0.
int64_t last_step(const RunConfig& config);

/// The position of a training in its data. Batch sizes may have changed on the way.
struct DataCursor {
  int64_t steps = 0;    ///< steps taken
  int64_t samples = 0;  ///< samples consumed by all ranks in these steps

  bool operator==(const DataCursor&) const = default;
};

/// Returns the position before `step`, if all steps since `done` have batches of
/// `train_batch_size`. The result has no meaning, though it is not negative, if `done` already
/// counts `step`.
DataCursor cursor_before(int64_t step, const DataCursor& done, int64_t train_batch_size);

/// Sets run.steps of a run with run.epochs: the fewest steps that visit all `samples` epochs times.
/// These are done.steps + ceil((epochs x samples - done.samples) / train_batch_size). Every batch
/// is whole, because the last one continues into the next epoch. Leaves run.steps alone if the run
/// sets it. Returns a warning if the warm-up outlasts these steps, otherwise "". Throws
/// SettingsError if run.stop_at or scheduler.total_num_steps does not fit the steps.
std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size,
                          const DataCursor& done = {});

/// The learning rate as a pure function of the number of updates applied before, 0 for the first.
/// Skipped steps do not advance it, and a resume needs no state. Evaluated in double and rounded to
/// fp32. Formulas of DeepSpeed's lr_schedules.py, whose scheduler steps after each update, with t =
/// updates - 1 and N = max(2, warmup_num_steps):
///   warm-up  g(t) = t / N (linear) or ln(t + 1) / ln(N) (log) while t < N
///   constant        lr
///   WarmupLR        min + (max - min) g; g = 1 from t = N on
///   WarmupDecayLR   the same; from t = N on g = max(0, (total - t) / max(1, total - N))
///   WarmupCosineLR  lr (r + (1 - r) g), r = warmup_min_ratio; from t = N on
///                   lr (c + (1 - c) (1 + cos(pi s)) / 2), c = cos_min_ratio,
///                   s = min(1, (t - N + 1) / max(1, total - N))
/// The first update (t = -1) has the rate warmup_min_lr, and 0 under WarmupCosineLR. DeepSpeed's
/// schedules without warm-up use u = updates:
///   OneCycle        low + (high - low) h(u); h = u / F up to u = F, then (F + S - u) / S up to
///                   u = F + S, F and S the steps of both halves; with k stairs floor(k h) / k;
///                   after it low / (1 + decay_lr_rate (u - F - S) / decay_step_size)
///   LRRangeTest     low (1 + step_rate u / step_size), as a staircase with floor(u / step_size)
/// WSD is from Hu et al., MiniCPM (arXiv 2404.06395), not from DeepSpeed:
///   WSD             as WarmupLR until u = total - D, D = wsd_decay_steps; then at most
///                   max (r + (1 - r) d(p)), r = wsd_min_ratio, p = (u - total + D) / D, where d is
///                   1 - p (linear), (1 + cos(pi p)) / 2 (cosine) or 1 - sqrt(p) (sqrt)
struct Schedule {
  ScheduleConfig config;  ///< all "auto" values resolved
  double lr = 0;          ///< optimizer.lr

  /// Returns the learning rate of the update that follows `updates` applied ones.
  float rate(int64_t updates) const;
};

/// Returns the schedule of a run of `config` with every "auto" resolved: total_num_steps from
/// run.steps, the highest rate from lr, the cycle's second half from its first. The decay of WSD is
/// a tenth of all steps.
Schedule schedule_of(const RunConfig& config);

/// True if the schedule begins with a warm-up.
bool warms_up(ScheduleType type);

/// True if the schedule depends on total_num_steps.
bool needs_total(ScheduleType type);

/// Returns a warning with the highest rate reached if the configured warm-up outlasts the schedule,
/// otherwise "". REQUIRES: run.steps is set.
std::string long_warmup(const RunConfig& config);

/// Returns an error text if the configured decay is longer than the schedule, otherwise "".
/// REQUIRES: run.steps is set.
std::string long_decay(const RunConfig& config);

}  // namespace zero
