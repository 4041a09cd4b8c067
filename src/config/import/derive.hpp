#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zero/config/run_config.hpp"
#include "zero/config/toml.hpp"

namespace zero {

struct Derived {
  TomlValue value;
  std::string how;  ///< "width^2"
};

/// What Transformers makes of "auto" at a key of an input file. Nothing where its training script
/// decides, or where the width of the model must be known and is not.
std::optional<Derived> derive_auto(std::string_view key, const RunConfig& config);

inline constexpr const char* kHfDefault = "Transformers' default";

/// What TrainingArguments of Transformers has where nobody says anything; nothing for a key that is
/// not theirs.
std::optional<TomlValue> hf_default(std::string_view key);

/// Whether derive_auto() needs the width of the model for `key`.
bool depends_on_width(std::string_view key);

}  // namespace zero
