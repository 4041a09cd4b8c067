#pragma once

#include <map>

#include "src/config/import/source.hpp"
#include "src/config/text_cursor.hpp"

namespace zero {

/// Collects the entries of a file while its reader walks through it, and keeps the limits.
class SourceBuilder {
 public:
  explicit SourceBuilder(std::string file) : file_(std::move(file)) {}

  std::string place(int line) const { return text(file_, ":", line); }

  /// Begins the member `name` of object `path` ("" at the top) and returns its key. Throws
  /// SyntaxError if the name is none or stood before.
  std::string member(const std::string& path, const std::string& name, int line) {
    if (!is_toml_key(name) || name.find('.') != name.npos || name.size() > kSourceMaxName) {
      syntax("a key is made of A-Z a-z 0-9 _ -, at most ", kSourceMaxName, " of them");
    }
    std::string key = path.empty() ? name : path + "." + name;
    const auto [twice, first] = lines_.emplace(key, line);
    if (!first) syntax(key, " stands twice, first in line ", twice->second, "; keep one");
    if (lines_.size() > kSourceMaxKeys) syntax("more than ", kSourceMaxKeys, " keys");
    return key;
  }

  void add(std::string key, std::optional<TomlValue> value, int line) {
    entries_.push_back({std::move(key), std::move(value), place(line)});
  }

  Source take() { return std::move(entries_); }

 private:
  std::string file_;
  std::map<std::string, int> lines_;  // of every key so far
  Source entries_;
};

}  // namespace zero
