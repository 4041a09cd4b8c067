#include "zero/config/effective.hpp"

#include <algorithm>
#include <map>

#include "src/config/fields.hpp"
#include "zero/base/error.hpp"
#include "zero/config/model_table.hpp"
#include "zero/config/schedule.hpp"
#include "zero/config/units.hpp"

namespace zero {
namespace {

/// What each "auto" that other keys decide comes to, by its key.
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
    const std::string_view source = named ? "model.name" : count.source;
    add(automatic && !source.empty(), text("model.", count.name), source,
        numbers.count(count.name));
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

/// A file's name may hold what no comment can.
std::string comment(std::string words) {
  if (!is_line_of_text(words)) {
    const auto unfit = [](char c) { return c < ' ' || c > '~'; };
    std::replace_if(words.begin(), words.end(), unfit, '?');
  }
  return "  # " + words + "\n";
}

}  // namespace

std::string effective_toml(const ConfigInput& input) {
  RunConfig config = input.config;
  const std::map<std::string, std::string> derived = derived_values(config);
  if (config.run.epochs > 0) config.run.steps = 0;
  std::string out =
      "# Every setting of a run and where it comes from. An input file like any other.\n";
  std::string_view section;
  const std::vector<Field> fields = fields_of(config);
  for (const Field& field : fields) {
    const std::string_view here = section_of(field.key);
    if (here != section) out += text("\n[", here, "]\n");
    section = here;
    const auto value = derived.find(field.key);
    out +=
        text(field.key.substr(here.empty() ? 0 : here.size() + 1), " = ", to_text(value_of(field)),
             comment(input.origins.at(field.key) +
                     (value == derived.end() ? std::string() : value->second)));
  }
  return out;
}

}  // namespace zero
