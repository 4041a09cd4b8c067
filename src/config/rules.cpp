#include "src/config/rules.hpp"

#include "src/config/fields.hpp"
#include "zero/base/error.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

const Field& field_named(const std::vector<Field>& fields, const std::string& key) {
  for (const Field& field : fields) {
    if (field.key == key) return field;
  }
  ZERO_REQUIRE(false, "no field ", key);
}

void warn_of_long_warmup(const RunConfig& c, Report& report) {
  const ScheduleConfig& s = c.scheduler;
  const int64_t total = s.total_num_steps ? s.total_num_steps : c.run.steps;
  const bool outlasts =
      s.type != ScheduleType::constant && total > 0 && s.warmup_num_steps >= total;
  if (!outlasts || report.failed("scheduler.warmup_num_steps")) return;
  report.warning("scheduler.warmup_num_steps",
                 text("the warm-up of ", s.warmup_num_steps, " steps outlasts the ", total,
                      " steps of the schedule: the learning rate reaches ",
                      schedule_of(c).rate(total - 1), " and no more"));
}

}  // namespace

std::vector<IdleSetting> idle_settings(RunConfig& config) {
  RunConfig defaults;
  const std::vector<Field> fields = fields_of(config), unset = fields_of(defaults);
  std::vector<IdleSetting> idle;
  for (const Condition& condition : conditions()) {
    if (condition.holds(config)) continue;
    for (const std::string& key : condition.keys) {
      const TomlValue value = value_of(field_named(fields, key));
      if (value == value_of(field_named(unset, key))) continue;
      idle.push_back(
          {key, condition.because,
           text(to_text(value), " has no effect: it acts only with ", condition.wanted)});
    }
  }
  return idle;
}

void check_rules(RunConfig& config, Report& report) {
  for (const Rule& rule : rules()) {
    const std::string what = rule.broken(config);
    if (!what.empty()) report.clash(rule.keys, what);
  }
  RunConfig defaults;
  const std::vector<Field> fields = fields_of(config), unset = fields_of(defaults);
  for (const IdleSetting& idle : idle_settings(config)) {
    if (!report.idle(idle.key, idle.because, idle.what)) continue;
    assign(field_named(fields, idle.key), value_of(field_named(unset, idle.key)));
  }
  warn_of_long_warmup(config, report);
}

}  // namespace zero
