#include <map>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "zero/base/error.hpp"
#include "zero/base/text.hpp"
#include "zero/config/model_keys.hpp"
#include "zero/config/read_config.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

/// Returns, by key, the derived value of each "auto" that other keys decide.
std::map<std::string, std::string> derived_values(const RunConfig& c) {
  std::map<std::string, std::string> values;
  const auto add = [&values](bool automatic, const std::string& key, std::string_view source,
                             auto number) {
    if (automatic) values[key] = text("; derived from ", source, ": ", number);
  };
  const bool named = !c.model.name.empty();
  const ModelNumbers numbers = model_numbers(c);
  for (const ModelCount& count : family_of(c.model).counts) {
    const bool automatic = c.model.numbers.count(count.name) == 0;
    const std::string_view source = named && !count.by_task ? "model.name" : count.source;
    add(automatic && !source.empty(), text("model.", count.name), source,
        written_as(count, numbers.count(count.name)));
  }
  for (const ModelRate& rate : family_of(c.model).rates) {
    const bool automatic = rate.range.automatic && c.model.numbers.rate(rate.name) == 0;
    add(automatic, text("model.", rate.name), named ? "model.name" : "model.family",
        numbers.rate(rate.name));
  }
  const Schedule schedule = schedule_of(c);
  add(c.scheduler.warmup_max_lr == 0, "scheduler.warmup_max_lr", "optimizer.lr",
      schedule.config.warmup_max_lr);
  add(c.scheduler.total_num_steps == 0 && c.run.steps > 0, "scheduler.total_num_steps", "run.steps",
      schedule.config.total_num_steps);
  add(c.scheduler.cycle_max_lr == 0, "scheduler.cycle_max_lr", "optimizer.lr",
      schedule.config.cycle_max_lr);
  add(c.scheduler.cycle_second_step_size == 0, "scheduler.cycle_second_step_size",
      "scheduler.cycle_first_step_size", schedule.config.cycle_second_step_size);
  add(c.scheduler.wsd_decay_steps == 0 && schedule.config.wsd_decay_steps > 0,
      "scheduler.wsd_decay_steps", "scheduler.total_num_steps", schedule.config.wsd_decay_steps);
  add(c.run.steps > 0 && c.run.epochs > 0, "run.steps", "run.epochs", c.run.steps);
  return values;
}

}  // namespace

std::string effective_toml(const ConfigInput& input) {
  RunConfig config = input.config;
  const std::map<std::string, std::string> derived = derived_values(config);
  if (config.run.epochs > 0) config.run.steps = 0;
  const std::vector<Field> fields = fields_of(config);
  return "# Every setting of a run and where it comes from. An input file like any other.\n" +
         by_section(fields, [&](const Field& field, std::string_view name) {
           const auto value = derived.find(field.key);
           const bool follows = value != derived.end();
           return text(name, " = ", to_text(value_of(field)),
                       comment(input.origins.at(field.key) + (follows ? value->second : "")));
         });
}

std::vector<std::pair<std::string, TomlValue>> written_settings(const ConfigInput& input) {
  RunConfig config = input.config;
  std::vector<std::pair<std::string, TomlValue>> settings;
  for (const Field& field : fields_of(config)) {
    if (input.written.contains(field.key)) settings.emplace_back(field.key, value_of(field));
  }
  return settings;
}

}  // namespace zero
