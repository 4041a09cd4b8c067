#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/config/config_errors.hpp"
#include "src/config/fields.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

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
