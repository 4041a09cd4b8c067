#include "zero/config/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "zero/base/counted.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

double warmup(const ScheduleConfig& c, double t, double steps) {
  return c.warmup_type == WarmupType::log ? std::log(t + 1) / std::log(steps) : t / steps;
}

double linear_rate(const ScheduleConfig& c, double t, double steps) {
  const double delta = c.warmup_max_lr - c.warmup_min_lr;
  const double total = double(c.total_num_steps);
  double share = 1;
  if (t < 0) {
    share = 0;
  } else if (t < steps) {
    share = warmup(c, t, steps);
  } else if (c.type == ScheduleType::WarmupDecayLR) {
    share = std::max(0.0, (total - t) / std::max(1.0, total - steps));
  }
  return c.warmup_min_lr + delta * share;
}

/// Of optimizer.lr.
double cosine_ratio(const ScheduleConfig& c, double t, double steps) {
  if (t < 0) return 0;
  if (t < steps) {
    return c.warmup_min_ratio + warmup(c, t, steps) * (1 - c.warmup_min_ratio);
  }
  const double span = std::max(1.0, double(c.total_num_steps) - steps);
  // Behind its end the cosine would rise again.
  const double progress = std::min(1.0, (t - steps + 1) / span);
  const double share = (1 + std::cos(std::numbers::pi * progress)) / 2;
  return std::max(0.0, c.cos_min_ratio + (1 - c.cos_min_ratio) * share);
}

}  // namespace

float Schedule::rate(int64_t updates) const {
  const double t = double(updates) - 1;
  const double steps = double(std::max<int64_t>(2, config.warmup_num_steps));
  switch (config.type) {
    case ScheduleType::constant:
      return float(lr);
    case ScheduleType::WarmupCosineLR:
      return float(lr * cosine_ratio(config, t, steps));
    default:
      return float(linear_rate(config, t, steps));
  }
}

Schedule schedule_of(const RunConfig& config) {
  Schedule schedule{config.scheduler, config.optimizer.lr};
  if (schedule.config.total_num_steps == 0) schedule.config.total_num_steps = config.run.steps;
  if (schedule.config.warmup_max_lr == 0) schedule.config.warmup_max_lr = config.optimizer.lr;
  return schedule;
}

std::string long_warmup(const RunConfig& config) {
  const int64_t warmup = config.scheduler.warmup_num_steps;
  const Schedule schedule = schedule_of(config);
  const int64_t total = schedule.config.total_num_steps;
  if (config.scheduler.type == ScheduleType::constant || total == 0 || warmup < total) return "";
  return text("the warm-up of ", counted(warmup, "step"), " does not end within the schedule of ",
              counted(total, "step"), ": the learning rate reaches ", schedule.rate(total - 1),
              " and no more");
}

}  // namespace zero
