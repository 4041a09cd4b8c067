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

std::vector<Condition> warmup_conditions() {
  return {
      {.keys = {"scheduler.warmup_type", "scheduler.warmup_num_steps"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"WarmupLR\" and its sisters, or \"WSD\"",
       .holds = [](const RunConfig& c) { return warms_up(c.scheduler.type); },
       .example = {"scheduler.type = \"constant\""}},
      {.keys = {"scheduler.warmup_min_lr", "scheduler.warmup_max_lr"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"WarmupLR\", \"WarmupDecayLR\" or \"WSD\"",
       .holds = begins_at_a_rate,
       .example = {"scheduler.type = \"WarmupCosineLR\"", "scheduler.warmup_num_steps = 1"}},
      {.keys = {"scheduler.total_num_steps"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"WarmupDecayLR\", \"WarmupCosineLR\" or \"WSD\"",
       .holds = [](const RunConfig& c) { return needs_total(c.scheduler.type); },
       .example = {"scheduler.type = \"WarmupLR\"", "scheduler.warmup_num_steps = 1"}},
      {.keys = {"scheduler.warmup_min_ratio", "scheduler.cos_min_ratio"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"WarmupCosineLR\"",
       .holds = [](const RunConfig& c) { return is(c, {Type::WarmupCosineLR}); },
       .example = {"scheduler.type = \"WarmupDecayLR\"", "scheduler.warmup_num_steps = 1"}},
      {.keys = {"scheduler.wsd_decay_steps", "scheduler.wsd_decay_type", "scheduler.wsd_min_ratio"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"WSD\"",
       .holds = [](const RunConfig& c) { return is(c, {Type::WSD}); },
       .example = {"scheduler.type = \"WarmupDecayLR\"", "scheduler.warmup_num_steps = 1"}},
  };
}

std::vector<Condition> cycle_conditions() {
  return {
      {.keys = {"scheduler.cycle_min_lr", "scheduler.cycle_max_lr",
                "scheduler.cycle_first_step_size", "scheduler.cycle_second_step_size",
                "scheduler.cycle_first_stair_count", "scheduler.cycle_second_stair_count"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"OneCycle\"",
       .holds = [](const RunConfig& c) { return is(c, {Type::OneCycle}); },
       .example = {"scheduler.type = \"LRRangeTest\""}},
      {.keys = {"scheduler.decay_step_size"},
       .because = {"scheduler.decay_lr_rate", "scheduler.type"},
       .wanted = "scheduler.type = \"OneCycle\" and a scheduler.decay_lr_rate above 0",
       .holds =
           [](const RunConfig& c) {
             return is(c, {Type::OneCycle}) && c.scheduler.decay_lr_rate > 0;
           },
       .example = {"scheduler.type = \"OneCycle\""}},
      {.keys = {"scheduler.decay_lr_rate"},
       .because = {"scheduler.decay_step_size", "scheduler.type"},
       .wanted = "scheduler.type = \"OneCycle\" and a scheduler.decay_step_size above 0",
       .holds =
           [](const RunConfig& c) {
             return is(c, {Type::OneCycle}) && c.scheduler.decay_step_size > 0;
           },
       .example = {"scheduler.type = \"OneCycle\""}},
      {.keys = {"scheduler.lr_range_test_min_lr", "scheduler.lr_range_test_step_size",
                "scheduler.lr_range_test_step_rate", "scheduler.lr_range_test_staircase"},
       .because = {"scheduler.type"},
       .wanted = "scheduler.type = \"LRRangeTest\"",
       .holds = [](const RunConfig& c) { return is(c, {Type::LRRangeTest}); },
       .example = {"scheduler.type = \"OneCycle\""}},
      {.keys = {"optimizer.lr"},
       .because = {"scheduler.type"},
       .wanted = "another scheduler.type than \"LRRangeTest\", whose rates begin with "
                 "scheduler.lr_range_test_min_lr",
       .holds = [](const RunConfig& c) { return !is(c, {Type::LRRangeTest}); },
       .example = {"scheduler.type = \"LRRangeTest\""}},
  };
}

}  // namespace

std::vector<Condition> schedule_conditions() {
  std::vector<Condition> all = warmup_conditions();
  for (Condition& condition : cycle_conditions()) all.push_back(std::move(condition));
  return all;
}

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
