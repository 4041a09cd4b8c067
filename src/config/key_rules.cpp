#include "src/config/key_rules.hpp"

#include <algorithm>
#include <map>

#include "src/config/field_text.hpp"
#include "src/config/fields.hpp"
#include "src/config/key_assignment.hpp"
#include "src/config/key_conditions.hpp"
#include "src/config/key_contradictions.hpp"
#include "zero/base/error.hpp"
#include "zero/config/schedule.hpp"

namespace zero {
namespace {

const Field& field_named(std::span<const Field> fields, const std::string& key) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&key](const Field& field) { return field.key == key; });
  ZERO_REQUIRE(found != fields.end(), "no field ", key);
  return *found;
}

bool acts(const Condition& condition, const RunConfig& config, std::span<const Field> fields) {
  if (condition.holds) return condition.holds(config);
  const TomlValue value = value_of(field_named(fields, condition.because.front()));
  return std::ranges::find(condition.values, value) != condition.values.end();
}

const TomlValue& default_of(const std::string& key) {
  static const std::map<std::string, TomlValue> defaults = [] {
    RunConfig unset;
    std::map<std::string, TomlValue> values;
    for (const Field& field : fields_of(unset)) values[field.key] = value_of(field);
    return values;
  }();
  return defaults.at(key);
}

void warn_of_long_warmup(const RunConfig& config, Report& report) {
  if (report.failed("scheduler.warmup_num_steps")) return;
  const std::string what = long_warmup(config);
  if (!what.empty()) report.warning("scheduler.warmup_num_steps", what);
}

/// Warns of a derived micro-batch size under numerics.reproducible. Sums are trees over
/// micro-batches, so equal bytes need a fixed size.
void warn_of_derived_micro_batch(const RunConfig& config, Report& report) {
  const std::string key = "train_micro_batch_size_per_gpu";
  const int64_t micro = config.train_micro_batch_size_per_gpu;
  const bool derived = micro < 0 || (micro == 0 && config.train_batch_size > 0);
  if (!config.numerics.reproducible || !derived || report.failed(key)) return;
  report.warning(key, text(micro == 0 ? "is derived from train_batch_size and the number of ranks"
                                      : "follows memory, rates and the number of ranks",
                           ", and numerics.reproducible gives the same bytes at every rank count "
                           "only with the same micro-batch size; write it as a number"));
}

/// Warns that "fp32" acts as "auto", because a gradient of one micro-batch already has 16 bits.
void warn_of_the_wire(const RunConfig& config, Report& report) {
  const bool halves = config.bf16.enabled || config.fp16.enabled;
  if (config.communication_data_type != CommunicationDtype::fp32 || !halves) return;
  report.warning("communication_data_type",
                 text("\"fp32\" is done as \"auto\": gradients of one micro-batch travel in ",
                      config.bf16.enabled ? "bf16" : "fp16",
                      ", as they are, and sums of several in fp32, so that nothing is lost; "
                      "write \"auto\""));
}

}  // namespace

std::vector<IdleSetting> idle_settings(const RunConfig& config, std::span<const Field> fields) {
  std::vector<IdleSetting> idle;
  for (const Condition& condition : conditions(config.model.table)) {
    if (acts(condition, config, fields)) continue;
    for (const std::string& key : condition.keys) {
      const TomlValue value = value_of(field_named(fields, key));
      if (value == default_of(key)) continue;
      idle.push_back(
          {key, condition.because,
           text(to_text(value), " has no effect: it acts only with ", condition.wanted)});
    }
  }
  return idle;
}

void check_rules(const RunConfig& config, std::span<const Field> fields, Report& report) {
  for (const Rule& rule : rules_for(config.model)) {
    const std::string what = rule.broken(config);
    if (!what.empty()) report.clash(rule.keys, what);
  }
  for (const IdleSetting& idle : idle_settings(config, fields)) {
    const bool stays = report.idle(idle.key, idle.because, idle.what);
    if (stays) assign(field_named(fields, idle.key), default_of(idle.key));
  }
  warn_of_long_warmup(config, report);
  warn_of_derived_micro_batch(config, report);
  warn_of_the_wire(config, report);
}

}  // namespace zero
