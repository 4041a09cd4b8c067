#include "zero/config/key_differences.hpp"

#include <algorithm>
#include <map>

#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

constexpr size_t kNamedKeys = 5;

std::map<std::string, std::string> values_of(const std::string& settings) {
  std::map<std::string, std::string> values;
  for (const TomlEntry& entry : parse_toml(settings).entries) {
    values[entry.key] = to_text(entry.value);
  }
  return values;
}

}  // namespace

std::vector<Difference> differences(const std::string& one, const std::string& other) {
  const auto ours = values_of(one), theirs = values_of(other);
  std::vector<Difference> found;
  for (const auto& [key, value] : ours) {
    const auto their = theirs.find(key);
    if (their != theirs.end() && their->second != value)
      found.push_back({key, value, their->second});
  }
  return found;
}

std::string differing_settings(const std::string& one, const std::string& other) {
  const std::vector<Difference> all = differences(one, other);
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), kNamedKeys); ++i) {
    out += text(i == 0 ? "" : ", ", all[i].key, " = ", all[i].one, " and ", all[i].other);
  }
  return all.size() > kNamedKeys ? out + text(", and ", all.size() - kNamedKeys, " more") : out;
}

}  // namespace zero
