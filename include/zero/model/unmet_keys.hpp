#pragma once

#include <string_view>

#include "zero/config/toml.hpp"

namespace zero::model {

/// True for keys of GenerationConfig that this program does not implement.
bool is_unmet_key(std::string_view key);
/// True if a key that is_unmet_key() has its neutral value.
bool asks_for_nothing(std::string_view key, const TomlValue& value);

}  // namespace zero::model
