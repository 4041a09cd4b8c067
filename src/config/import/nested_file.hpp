#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/toml_cursor.hpp"

namespace zero {

/// A plain value in a file of nested objects.
struct SourceEntry {
  std::string key;                 ///< with the names of its objects: "zero_optimization.stage"
  std::optional<TomlValue> value;  ///< nothing for null, which asks for the default
  std::string place;               ///< "ds_config.json:12"
  std::string called = {};         ///< key as the user wrote it; "" if the same
  std::string may_be = {};         ///< flags that begin with a key that is no flag
};

/// The entries in text order; keys are unique. Empty objects and arrays have no entry.
using Source = std::vector<SourceEntry>;

/// Returns the user's words for the key.
const std::string& said(const SourceEntry& entry);

/// Returns the first entry of the key; nullptr if none.
SourceEntry* find_entry(Source& source, std::string_view key);
const SourceEntry* find_entry(const Source& source, std::string_view key);

/// Returns the value of the key's first entry; nullptr if there is none or it is null.
const TomlValue* value_in(const Source& source, std::string_view key);

/// Returns the value as a number; nothing for other types.
std::optional<double> number_of(const TomlValue& value);

/// The value of an entry whose list holds lists or objects.
inline constexpr const char* kNestedList = "[...]";

/// Parses a decimal number as Python does, "0." and ".5" included. Nothing for other words.
std::optional<TomlValue> python_number(std::string_view word);

inline constexpr size_t kSourceMaxBytes = 1024 * 1024;
inline constexpr size_t kSourceMaxKeys = 2000;
inline constexpr size_t kSourceMaxName = 200;  ///< bytes of one part of a key
inline constexpr int kSourceMaxDepth = 8;      ///< nested objects

/// Parses a JSON object, with the // # and /* */ comments and trailing commas of DeepSpeed's users.
/// An array of more than plain values becomes the text "[...]". Throws Error(kUsage), "file:line:
/// what", on anything else; `file` is for error texts.
Source read_json(std::string_view text, const std::string& file);

/// Parses the part of YAML that Accelerate's users write: objects and lists by indentation or in {
/// } and [ ], and comments. Keys and values are plain or quoted, on one line. Words have PyYAML's
/// meaning: yes, no, on and off are booleans. A list of more than plain values becomes the text
/// "[...]". Throws Error(kUsage), "file:line: what", on anything else.
Source read_yaml(std::string_view text, const std::string& file);

/// A collector of a file's entries that enforces the limits.
class SourceBuilder {
 public:
  explicit SourceBuilder(std::string file) : file_(std::move(file)) {}

  std::string place(int line) const { return text(file_, ":", line); }

  /// Begins the member `name` of object `path` ("" at the top) and returns its key. Throws
  /// SyntaxError if the name is invalid or repeated.
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
  std::map<std::string, int> lines_;  // line of every key so far
  Source entries_;
};

/// Parses a whole text with Reader(cursor, builder).read(). Throws Error(kUsage) with the line.
template <class Reader>
Source read_with(std::string_view text, const std::string& file) {
  TextCursor cursor{without_mark(text)};
  SourceBuilder builder(file);
  try {
    if (const auto unfit = unfit_text(text, kSourceMaxBytes, kSourceMaxBytes)) {
      cursor.line = unfit->line;
      syntax(unfit->what);
    }
    Reader(cursor, builder).read();
  } catch (const SyntaxError& error) {
    refuse(Exit::kUsage, builder.place(cursor.line), ": ", error.what);
  }
  return builder.take();
}

}  // namespace zero
