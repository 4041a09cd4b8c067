#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "src/config/report.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// A condition under which keys act: a setting of another key.
struct Condition {
  std::vector<std::string> keys;
  std::vector<std::string> because;  ///< keys that decide
  std::string wanted;                ///< settings under which `keys` act, as text
  std::function<bool(const RunConfig&)> holds = {};
  std::vector<TomlValue> values = {};     ///< without `holds`: such values of the key that decides
  std::vector<std::string> example = {};  ///< with `holds`: lines under which `keys` do not act
};

/// Returns the rules of [model] for every family.
std::vector<Rule> model_rules(const ModelConfig& model);

/// Returns the rules of [generation], and the conditions under which its keys act.
std::vector<Rule> generation_rules();
std::vector<Condition> generation_conditions();

/// Returns all rules, including those of the model's family.
std::vector<Rule> rules_for(const ModelConfig& model);
/// Returns all conditions, including those of the objectives in the table of models.
std::vector<Condition> conditions(const ModelTable* table);

/// A setting without effect because of another key's value.
struct IdleSetting {
  std::string key;
  std::vector<std::string> because;
  std::string what;  ///< value, and the setting under which it would act
};

/// Returns the settings without effect, except those at their defaults. REQUIRES: single values are
/// legal and `fields` is fields_of(config).
std::vector<IdleSetting> idle_settings(const RunConfig& config, std::span<const Field> fields);

/// Reports missing, contradictory and ineffective settings. An ineffective setting that only warns
/// returns to its default. REQUIRES: single values are legal and `fields` is fields_of(config).
void check_rules(const RunConfig& config, std::span<const Field> fields, Report& report);

}  // namespace zero
