#pragma once

#include <nlohmann/json.hpp>

#include "zero/stored/stored_model.hpp"

namespace zero::stored {

/// Our key of a config.json, an object.
inline constexpr const char* kOwnKey = "zeroapp";

/// Returns the entries of a config.json for the model, without our key; `dtype` is its torch_dtype.
/// If the model has an origin, they are the origin's, but for numbers that have changed since, both
/// spellings of rope and both keys of the dtype.
nlohmann::ordered_json config_json(const ModelDescription& description, const char* dtype);

}  // namespace zero::stored
