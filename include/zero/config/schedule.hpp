#pragma once

#include <cstdint>
#include <string>

#include "zero/config/run_config.hpp"

namespace zero {

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
/// The first update (t = -1) has the rate warmup_min_lr, and 0 under WarmupCosineLR.
struct Schedule {
  ScheduleConfig config;  ///< total_num_steps and warmup_max_lr no longer "auto"
  double lr = 0;          ///< optimizer.lr

  float rate(int64_t updates) const;
};

/// The schedule of a run, with auto resolved: total_num_steps from run.steps, warmup_max_lr from
/// lr.
Schedule schedule_of(const RunConfig& config);

/// "", or that the warm-up outlasts the schedule, and the rate that it reaches. Wants run.steps.
std::string long_warmup(const RunConfig& config);

}  // namespace zero
