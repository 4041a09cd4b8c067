#pragma once
/// Names in Hugging Face's files that match no parameter and no setting here.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "zero/config/toml.hpp"

namespace zero::model {

/// Returns the prefix that wrappers around a model, such as DataParallel, put before all `names` of
/// its tensors. `known` must be true for some of them without it. Returns "" if some are known with
/// it, or no wrapper explains them.
std::string wrapper_of(std::span<const std::string_view> names,
                       const std::function<bool(std::string_view name)>& known);

/// True for keys of GenerationConfig that this program does not implement.
bool is_unmet_key(std::string_view key);
/// True if `value` is the neutral value of `key`, for which is_unmet_key() is true.
bool asks_for_nothing(std::string_view key, const TomlValue& value);

}  // namespace zero::model
