#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace zero::model {

/// Returns the prefix that wrappers around a model, such as DataParallel, put before all `names` of
/// its tensors. `known` must be true for some of them without it. Returns "" if some are known with
/// it, or no wrapper explains them.
std::string wrapper_of(std::span<const std::string_view> names,
                       const std::function<bool(std::string_view name)>& known);

}  // namespace zero::model
