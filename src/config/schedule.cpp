#include "zero/config/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "zero/base/error.hpp"
#include "zero/base/text.hpp"

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

/// Returns the rate divided by optimizer.lr.
double cosine_ratio(const ScheduleConfig& c, double t, double steps) {
  if (t < 0) return 0;
  if (t < steps) {
    return c.warmup_min_ratio + warmup(c, t, steps) * (1 - c.warmup_min_ratio);
  }
  const double span = std::max(1.0, double(c.total_num_steps) - steps);
  // Beyond its end the cosine would rise again.
  const double progress = std::min(1.0, (t - steps + 1) / span);
  const double share = (1 + std::cos(std::numbers::pi * progress)) / 2;
  return std::max(0.0, c.cos_min_ratio + (1 - c.cos_min_ratio) * share);
}

/// Returns the height of an update in one half of the cycle, 0 at its low end and 1 at its high
/// end. Stairs are counted in integers, because rounding a quotient could lose a stair.
double height(int64_t place, int64_t steps, int64_t stairs) {
  if (stairs == 0) return double(place) / double(steps);
  const auto climbed = int64_t(static_cast<__int128>(place) * stairs / steps);
  return double(climbed) / double(stairs);
}

double cycle_rate(const ScheduleConfig& c, int64_t updates) {
  const int64_t first = c.cycle_first_step_size, total = first + c.cycle_second_step_size;
  if (updates <= first) {
    const double share = height(updates, first, c.cycle_first_stair_count);
    return c.cycle_min_lr + (c.cycle_max_lr - c.cycle_min_lr) * share;
  }
  if (updates <= total) {
    const double share =
        height(total - updates, c.cycle_second_step_size, c.cycle_second_stair_count);
    return c.cycle_min_lr + (c.cycle_max_lr - c.cycle_min_lr) * share;
  }
  if (c.decay_step_size == 0) return c.cycle_min_lr;
  const double intervals = double(updates - total) / double(c.decay_step_size);
  return c.cycle_min_lr / (1 + c.decay_lr_rate * intervals);
}

double range_test_rate(const ScheduleConfig& c, int64_t updates) {
  const double place = double(updates) / double(c.lr_range_test_step_size);
  const double intervals = c.lr_range_test_staircase ? std::floor(place) : place;
  return c.lr_range_test_min_lr * (1 + c.lr_range_test_step_rate * intervals);
}

/// Returns the share of the rate that is left after `progress` of the decay.
double left_after(DecayType type, double progress) {
  if (type == DecayType::cosine) return (1 + std::cos(std::numbers::pi * progress)) / 2;
  return 1 - (type == DecayType::sqrt ? std::sqrt(progress) : progress);
}

/// Returns the lower of rise and fall, so a long warm-up ends without a jump.
double stable_rate(const ScheduleConfig& c, int64_t updates, double steps) {
  const double rise = linear_rate(c, double(updates) - 1, steps);
  const double into = double(updates) - double(c.total_num_steps - c.wsd_decay_steps);
  const double progress = std::clamp(into / double(c.wsd_decay_steps), 0.0, 1.0);
  const double share = left_after(c.wsd_decay_type, progress);
  return std::min(rise, c.warmup_max_lr * (c.wsd_min_ratio + (1 - c.wsd_min_ratio) * share));
}

constexpr int64_t kMostVisits = int64_t(1) << 62;

void check_fits(const RunConfig& config, const std::string& found) {
  const int64_t steps = config.run.steps, total = config.scheduler.total_num_steps;
  if (config.run.stop_at > steps) {
    refuse_settings({"run.stop_at"}, "the run stops at step ", config.run.stop_at, ", but ", found,
                    "; write at most ", steps, ", or 0");
  }
  if (needs_total(config.scheduler.type) && total > 0 && total < steps) {
    refuse_settings({"scheduler.total_num_steps"}, "the schedule ends at step ", total, ", but ",
                    found, "; write \"auto\" or at least ", steps);
  }
  if (const std::string what = long_decay(config); !what.empty()) {
    refuse_settings({"scheduler.wsd_decay_steps"}, what, " (", found, ")");
  }
}

}  // namespace

bool warms_up(ScheduleType type) {
  return type != ScheduleType::constant && type != ScheduleType::OneCycle &&
         type != ScheduleType::LRRangeTest;
}

bool needs_total(ScheduleType type) {
  return type == ScheduleType::WarmupDecayLR || type == ScheduleType::WarmupCosineLR ||
         type == ScheduleType::WSD;
}

float Schedule::rate(int64_t updates) const {
  const double t = double(updates) - 1;
  const double steps = double(std::max<int64_t>(2, config.warmup_num_steps));
  switch (config.type) {
    case ScheduleType::constant:
      return float(lr);
    case ScheduleType::WarmupCosineLR:
      return float(lr * cosine_ratio(config, t, steps));
    case ScheduleType::OneCycle:
      return float(cycle_rate(config, updates));
    case ScheduleType::LRRangeTest:
      return float(range_test_rate(config, updates));
    case ScheduleType::WSD:
      return float(stable_rate(config, updates, steps));
    default:
      return float(linear_rate(config, t, steps));
  }
}

Schedule schedule_of(const RunConfig& config) {
  Schedule schedule{config.scheduler, config.optimizer.lr};
  ScheduleConfig& c = schedule.config;
  const auto resolve = [](auto& value, auto automatic, auto derived) {
    if (value == automatic) value = derived;
  };
  resolve(c.total_num_steps, 0, config.run.steps);
  resolve(c.warmup_max_lr, 0, config.optimizer.lr);
  resolve(c.cycle_max_lr, 0, config.optimizer.lr);
  resolve(c.cycle_second_step_size, 0, c.cycle_first_step_size);
  resolve(c.cycle_second_stair_count, -1, c.cycle_first_stair_count);
  resolve(c.wsd_decay_steps, 0, (c.total_num_steps + 9) / 10);
  return schedule;
}

std::string long_warmup(const RunConfig& config) {
  const Schedule schedule = schedule_of(config);
  const ScheduleConfig& c = schedule.config;
  const int64_t total = c.total_num_steps;
  const bool falls = c.type == ScheduleType::WSD && c.wsd_min_ratio < 1;
  const int64_t room = falls ? total - c.wsd_decay_steps : total;
  if (!warms_up(c.type) || total == 0 || c.warmup_num_steps < room) return "";
  const std::string what =
      text("the warm-up of ", counted(c.warmup_num_steps, "step"), " does not end within the ");
  if (falls) {
    return text(what, counted(room, "step"), " before the decay: the learning rate stays below ",
                c.warmup_max_lr);
  }
  return text(what, "schedule of ", counted(total, "step"), ": the learning rate reaches ",
              schedule.rate(total - 1), " and no more");
}

std::string long_decay(const RunConfig& config) {
  const ScheduleConfig c = schedule_of(config).config;
  const bool decays = c.type == ScheduleType::WSD && c.total_num_steps > 0;
  if (!decays || c.wsd_decay_steps <= c.total_num_steps) return "";
  return text("the decay takes ", counted(c.wsd_decay_steps, "step"), " of a schedule of ",
              c.total_num_steps, "; write \"auto\" or at most ", c.total_num_steps);
}

DataCursor cursor_before(int64_t step, const DataCursor& done, int64_t train_batch_size) {
  const int64_t samples = done.samples + (step - 1 - done.steps) * train_batch_size;
  return {.steps = step - 1, .samples = std::max<int64_t>(samples, 0)};
}

int64_t last_step(const RunConfig& config) {
  return config.run.stop_at ? config.run.stop_at : config.run.steps;
}

std::string resolve_steps(RunConfig& config, int64_t samples, int64_t train_batch_size,
                          const DataCursor& done) {
  SessionConfig& run = config.run;
  if (run.epochs == 0) return "";
  ZERO_REQUIRE(samples >= 1 && train_batch_size >= 1, samples, " samples in batches of ",
               train_batch_size);
  if (samples > kMostVisits / run.epochs) {
    refuse_settings({"run.epochs"}, counted(run.epochs, "epoch"), " of ",
                    counted(samples, "sample"), " are too many to count; write at most ",
                    kMostVisits / samples);
  }
  const int64_t visits = std::max<int64_t>(samples * run.epochs - done.samples, 0);
  run.steps = done.steps + visits / train_batch_size + (visits % train_batch_size != 0);
  check_fits(config, text(counted(run.epochs, "epoch"), " of ", counted(samples, "sample"), " are ",
                          counted(run.steps, "step"), done.steps ? ", those to come of " : " of ",
                          train_batch_size));
  // read_config() has checked a schedule with an explicit length.
  if (config.scheduler.total_num_steps > 0) return "";
  const std::string warning = long_warmup(config);
  return warning.empty() ? "" : "scheduler.warmup_num_steps: " + warning;
}

}  // namespace zero
