#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace zero {

/// The numbers of a model by the names that its family gives them: those of its keys of [model].
struct ModelNumbers {
  std::map<std::string, int64_t, std::less<>> counts = {};
  std::map<std::string, double, std::less<>> rates = {};

  /// Throws Error(kInternal) for a name that the family has not.
  int64_t count(std::string_view name) const;
  double rate(std::string_view name) const;

  bool operator==(const ModelNumbers&) const = default;
};

}  // namespace zero
