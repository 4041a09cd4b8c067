#include <algorithm>

#include "src/config/rules.hpp"
#include "zero/base/error.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

using Type = ScheduleType;

const std::string kFine;

bool is(const RunConfig& c, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), c.scheduler.type) != types.end();
}

bool begins_at_a_rate(const RunConfig& c) {
  return is(c, {Type::WarmupLR, Type::WarmupDecayLR, Type::WSD});
}

std::string falling_warmup(const RunConfig& c) {
  const ScheduleConfig s = schedule_of(c).config;
  if (!begins_at_a_rate(c) || s.warmup_min_lr <= s.warmup_max_lr) return kFine;
  return text("the warm-up begins at ", s.warmup_min_lr, " and ends at ", s.warmup_max_lr,
              "; write warmup_min_lr below that");
}

std::string falling_cycle(const RunConfig& c) {
  const ScheduleConfig s = schedule_of(c).config;
  if (!is(c, {Type::OneCycle}) || s.cycle_min_lr <= s.cycle_max_lr) return kFine;
  return text("the cycle begins at ", s.cycle_min_lr, " and rises to ", s.cycle_max_lr,
              "; write cycle_min_lr below that");
}

std::string short_schedule(const RunConfig& c) {
  const int64_t total = c.scheduler.total_num_steps;
  if (!needs_total(c.scheduler.type) || total == 0 || total >= c.run.steps) return kFine;
  return text("the schedule ends at step ", total, " of ", c.run.steps,
              "; write \"auto\" or at least ", c.run.steps);
}

}  // namespace

std::vector<Rule> schedule_rules() {
  return {
      {.keys = {"scheduler.warmup_min_lr", "scheduler.warmup_max_lr", "optimizer.lr"},
       .broken = falling_warmup,
       .example = {"scheduler.type = \"WarmupLR\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.warmup_min_lr = 1.0"}},
      {.keys = {"scheduler.cycle_min_lr", "scheduler.cycle_max_lr", "optimizer.lr"},
       .broken = falling_cycle,
       .example = {"scheduler.type = \"OneCycle\"", "scheduler.cycle_min_lr = 1.0"}},
      {.keys = {"scheduler.total_num_steps", "run.steps"},
       .broken = short_schedule,
       .example = {"scheduler.type = \"WarmupDecayLR\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.total_num_steps = 5"}},
      {.keys = {"scheduler.wsd_decay_steps", "scheduler.total_num_steps", "run.steps"},
       .broken = long_decay,
       .example = {"scheduler.type = \"WSD\"", "scheduler.warmup_num_steps = 2",
                   "scheduler.wsd_decay_steps = 11"}},
  };
}

}  // namespace zero
