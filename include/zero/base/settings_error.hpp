#pragma once

#include <string>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {

/// Settings that cannot work together, or not on these ranks or data, by their keys: what() begins
/// with the first of them. Who has read the input puts the place of the one written last in front.
class SettingsError : public Error {
 public:
  SettingsError(const std::vector<std::string>& keys, const std::string& problem)
      : Error(Exit::kUsage, keys.at(0) + ": " + problem), keys_(keys), problem_(problem) {}
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::string> keys_;
  std::string problem_;
};

/// Throws SettingsError{keys, text(parts...)}.
template <class... Parts>
[[noreturn]] void refuse_settings(const std::vector<std::string>& keys, const Parts&... parts) {
  throw SettingsError(keys, text(parts...));
}

}  // namespace zero
