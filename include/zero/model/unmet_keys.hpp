#pragma once

#include <string_view>

#include "zero/config/toml.hpp"

namespace zero::model {

/// True for keys of GenerationConfig that this program does not implement.
bool is_unmet_key(std::string_view key);
/// True if `value` is the neutral value of `key`, for which is_unmet_key() is true.
bool asks_for_nothing(std::string_view key, const TomlValue& value);

}  // namespace zero::model
