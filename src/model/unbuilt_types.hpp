#pragma once

#include <string_view>

namespace zero::model {

/// Returns what a model_type of Hugging Face needs that no family builds; "" if unknown.
std::string_view lack_for(std::string_view type);

}  // namespace zero::model
