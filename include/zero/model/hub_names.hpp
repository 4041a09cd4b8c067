#pragma once
/// Names in Hugging Face's files that are none of a parameter or of a setting here.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "zero/config/toml.hpp"

namespace zero::model {

/// Returns what wrappers around a model, such as DataParallel, have put in front of all names of
/// its tensors, where some of them are `known` without it; "" where some are known as they are, or
/// no wrapper explains them.
std::string wrapper_of(std::span<const std::string_view> names,
                       const std::function<bool(std::string_view name)>& known);

/// True of the keys of GenerationConfig that nothing here goes by.
bool is_unmet_key(std::string_view key);
/// True of such a key with the value that asks for nothing.
bool asks_for_nothing(std::string_view key, const TomlValue& value);

}  // namespace zero::model
