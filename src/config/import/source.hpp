#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/toml.hpp"

namespace zero {

/// One plain value of a file of nested objects.
struct SourceEntry {
  std::string key;                 ///< with the names of its objects: "zero_optimization.stage"
  std::optional<TomlValue> value;  ///< nothing for null, which asks for the default
  std::string place;               ///< "ds_config.json:12"
};

/// In the order of the text; each key once. An empty object or array has no entry.
using Source = std::vector<SourceEntry>;

inline constexpr size_t kSourceMaxBytes = 1024 * 1024;
inline constexpr size_t kSourceMaxKeys = 2000;
inline constexpr size_t kSourceMaxName = 200;  ///< bytes of one part of a key
inline constexpr int kSourceMaxDepth = 8;      ///< objects inside objects

}  // namespace zero
