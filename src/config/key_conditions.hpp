#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/config/model_keys.hpp"
#include "zero/config/run_config.hpp"
#include "zero/config/toml.hpp"

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

/// Returns the conditions under which keys of [generation] act.
std::vector<Condition> generation_conditions();

/// Returns all conditions, including those of the objectives in the table of models.
std::vector<Condition> conditions(const ModelTable* table);

}  // namespace zero
