#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/text_cursor.hpp"

namespace zero {

/// One plain value of a file of nested objects.
struct SourceEntry {
  std::string key;                 ///< with the names of its objects: "zero_optimization.stage"
  std::optional<TomlValue> value;  ///< nothing for null, which asks for the default
  std::string place;               ///< "ds_config.json:12"
  std::string called = {};         ///< how the user wrote the key; "" for the key itself
  std::string may_be = {};         ///< the flags that a key begins, of which it is none itself
};

/// In the order of the text; each key once. An empty object or array has no entry.
using Source = std::vector<SourceEntry>;

/// Returns the user's words for the key.
const std::string& said(const SourceEntry& entry);

/// Returns the first entry of the key; nullptr if there is none.
SourceEntry* find_entry(Source& source, std::string_view key);
const SourceEntry* find_entry(const Source& source, std::string_view key);

/// Returns the value of the first entry of the key; nullptr if there is none, or it is null.
const TomlValue* value_in(const Source& source, std::string_view key);

/// Returns the number that the value is; nothing for a value of another type.
std::optional<double> number_of(const TomlValue& value);

/// The value of an entry whose list holds lists or objects.
inline constexpr const char* kNestedList = "[...]";

/// Returns the value of a decimal number as Python writes it, "0." and ".5" too; nothing for any
/// other word.
std::optional<TomlValue> python_number(std::string_view word);

inline constexpr size_t kSourceMaxBytes = 1024 * 1024;
inline constexpr size_t kSourceMaxKeys = 2000;
inline constexpr size_t kSourceMaxName = 200;  ///< bytes of one part of a key
inline constexpr int kSourceMaxDepth = 8;      ///< objects inside objects

/// Reads an object of JSON as DeepSpeed's users write it: with // # and /* */ comments and commas
/// after the last member. An array that holds more than plain values is the text "[...]". Throws
/// Error(kUsage), "file:line: what", on anything else; `file` is for messages.
Source read_json(std::string_view text, const std::string& file);

/// Reads the part of YAML that Accelerate's users write: objects and lists by indentation or in
/// { } and [ ], plain and quoted keys and values on one line, comments. Words mean what PyYAML
/// makes of them: yes, no, on and off are booleans. A list that holds more than plain values is the
/// text
/// "[...]". Throws Error(kUsage), "file:line: what", on anything else.
Source read_yaml(std::string_view text, const std::string& file);

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

/// What Reader(cursor, builder).read() makes of a whole text. Throws Error(kUsage) with the line.
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
