#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/config/fields.hpp"
#include "src/config/report.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// Keys that act only under a setting of another key.
struct Condition {
  std::vector<std::string> keys;
  std::vector<std::string> because;  ///< the keys that decide
  std::string wanted;                ///< the settings under which they act, as text
  std::function<bool(const RunConfig&)> holds = {};
  std::vector<TomlValue> values = {};     ///< without `holds`: those of the key that decides
  std::vector<std::string> example = {};  ///< with `holds`: lines under which they do not act
};

/// In what a condition wants: the families that do so are named after it.
inline constexpr std::string_view kLearnsPairs = "that learns from pairs of texts";

/// Whether there is a validation set of pairs, whose sources have answers to be compared with.
bool holds_pairs_out(const RunConfig& config);

/// The rules of [model], whatever its family.
std::vector<Rule> model_rules(const ModelConfig& model);

/// The rules of [generation], and conditions under which its keys act.
std::vector<Rule> generation_rules();
std::vector<Condition> generation_conditions();

/// With those of the model's family.
std::vector<Rule> rules_for(const ModelConfig& model);
std::span<const Condition> conditions();

/// A setting that does nothing because of another key's value.
struct IdleSetting {
  std::string key;
  std::vector<std::string> because;
  std::string what;  ///< its value, and with which setting it would act
};

/// In a configuration whose single values are legal, `fields` being fields_of(config). Nothing at
/// its default is among them.
std::vector<IdleSetting> idle_settings(const RunConfig& config, std::span<const Field> fields);

/// Reports what is missing, what contradicts and what has no effect in a configuration whose single
/// values are legal, `fields` being fields_of(config). A setting without effect that is only a
/// warning goes back to its default.
void check_rules(const RunConfig& config, std::span<const Field> fields, Report& report);

}  // namespace zero
