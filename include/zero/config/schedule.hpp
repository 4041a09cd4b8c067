#pragma once
/// How many steps a training takes, and the learning rate of each.

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"

namespace zero {

/// A training has no more steps: each has its learning rate in a table.
inline constexpr int64_t kMostRunSteps = 100'000'000;

/// The last step of this launch unless a signal comes: run.stop_at if it is given, else run.steps.
int64_t last_step(const RunConfig& config);

/// How far a training has come in its data, in batches that may have had several sizes.
struct DataCursor {
  int64_t steps = 0;    ///< taken
  int64_t samples = 0;  ///< consumed by all ranks in these steps

  bool operator==(const DataCursor&) const = default;
};

/// The same where `step` is about to be taken, all steps since `done` with batches of one size.
/// Before a step that `done` already counts: not below 0, and otherwise of no meaning.
DataCursor cursor_before(int64_t step, const DataCursor& done, int64_t train_batch_size);

/// Fills in run.steps of a run that says run.epochs instead, once its data is known: the fewest
/// steps that visit every one of `samples` epochs times, those that are done and
/// ceil((epochs x samples - done.samples) / train_batch_size) more. Every step has a whole batch:
/// the last one runs on into the next epoch. Leaves a run alone that says its steps. Returns a
/// warning where the warm-up outlasts the steps found, else "". Throws SettingsError if run.stop_at
/// or scheduler.total_num_steps does not fit the steps found.
std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size,
                          const DataCursor& done = {});

/// The learning rate of one update: a pure function of the count of updates applied before it
/// (0 for the first), so that skipped steps do not move it and a resume needs no state.
/// Evaluated in double, rounded to fp32. As in DeepSpeed's lr_schedules.py, whose scheduler moves
/// after each update: with t = updates - 1 and N = max(2, warmup_num_steps),
///   warm-up  g(t) = t / N (linear) or ln(t + 1) / ln(N) (log) while t < N
///   constant        lr
///   WarmupLR        min + (max - min) g; g = 1 from t = N on
///   WarmupDecayLR   the same; from t = N on g = max(0, (total - t) / max(1, total - N))
///   WarmupCosineLR  lr (r + (1 - r) g), r = warmup_min_ratio; from t = N on
///                   lr (c + (1 - c) (1 + cos(pi s)) / 2), c = cos_min_ratio,
///                   s = min(1, (t - N + 1) / max(1, total - N))
/// The first update (t = -1) has the rate warmup_min_lr, and 0 under WarmupCosineLR. The schedules
/// of DeepSpeed's that do not warm up count u = updates:
///   OneCycle        low + (high - low) h(u); h = u / F up to u = F, then (F + S - u) / S up to
///                   u = F + S, F and S the steps of both halves; with k stairs floor(k h) / k;
///                   after it low / (1 + decay_lr_rate (u - F - S) / decay_step_size)
///   LRRangeTest     low (1 + step_rate u / step_size), as a staircase with floor(u / step_size)
/// And one that DeepSpeed has not, of Hu et al., MiniCPM (arXiv 2404.06395):
///   WSD             as WarmupLR until u = total - D, D = wsd_decay_steps; then at most
///                   max (r + (1 - r) d(p)), r = wsd_min_ratio, p = (u - total + D) / D, where d is
///                   1 - p (linear), (1 + cos(pi p)) / 2 (cosine) or 1 - sqrt(p) (sqrt)
struct Schedule {
  ScheduleConfig config;  ///< without "auto"
  double lr = 0;          ///< optimizer.lr

  float rate(int64_t updates) const;
};

/// The schedule of a run, with auto resolved: total_num_steps from run.steps, the highest rate from
/// lr, the second half of a cycle from its first, a decay of a tenth of all steps.
Schedule schedule_of(const RunConfig& config);

/// Whether its rates begin with a warm-up.
bool warms_up(ScheduleType type);

/// Whether its rates follow from total_num_steps.
bool needs_total(ScheduleType type);

/// "", or that the warm-up outlasts the schedule, and the rate that it reaches. Wants run.steps.
std::string long_warmup(const RunConfig& config);

/// "", or that a decay has more steps than its schedule. Wants run.steps.
std::string long_decay(const RunConfig& config);

}  // namespace zero
