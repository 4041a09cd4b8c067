#pragma once
/// A strict subset of TOML 1.0: [sections] and [dotted.sections], bare and dotted keys, decimal
/// integers and floats with underscores, booleans and comments. Strings are "basic" or 'literal' on
/// one line. Arrays are flat, over one or more lines, but may hold inline tables of scalars. The
/// parser refuses the rest with a reason: dates, other inline tables, [[arrays of tables]], quoted
/// keys, multi-line strings, other number bases, inf and nan.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zero {

using TomlScalar = std::variant<bool, int64_t, double, std::string>;
using TomlArray = std::vector<TomlScalar>;

/// An inline table. An item of an array that is no table has one entry, without a key.
struct TomlTable {
  std::vector<std::pair<std::string, TomlScalar>> entries;

  bool operator==(const TomlTable&) const = default;
};
using TomlTables = std::vector<TomlTable>;  ///< an array with a table in it
using TomlValue = std::variant<bool, int64_t, double, std::string, TomlArray, TomlTables>;

struct TomlEntry {
  std::string key;      ///< full key: "zero.stage"
  std::string section;  ///< section of the header above; "" if none
  TomlValue value;
  int line;  ///< line of the key, from 1
};

struct TomlSection {
  std::string name;  ///< name inside the brackets
  int line;
};

struct TomlProblem {
  int line;
  std::string key;   ///< "" if no key was read
  std::string what;  ///< error text and remedy
};

struct TomlDocument {
  std::vector<TomlEntry> entries;     ///< in text order, without duplicates
  std::vector<TomlSection> sections;  ///< headers, in text order, without duplicates
  std::vector<TomlProblem> problems;
};

inline constexpr size_t kTomlMaxBytes = 64 * 1024;
inline constexpr size_t kTomlMaxLine = 4000;
inline constexpr size_t kTomlMaxDepth = 8;       ///< parts of a key
inline constexpr size_t kTomlMaxProblems = 100;  ///< the parser stops after this many

/// Parses any text without throwing. A fault becomes a problem, and parsing resumes at the next
/// line.
TomlDocument parse_toml(std::string_view text);

/// Parses a text that is one value into `value`. Returns false and the error text in `what` if it
/// is not.
bool parse_toml_value(std::string_view text, TomlValue& value, std::string& what);

/// Parses a word of the command line into `value`: TOML, otherwise the word itself as a string.
/// Returns false and the error text in `what` if the word begins like a TOML string or array but is
/// invalid.
bool parse_toml_word(std::string_view word, TomlValue& value, std::string& what);

/// True if `key` is one to kTomlMaxDepth bare keys joined by dots.
bool is_toml_key(std::string_view key);

/// Returns the value as files write it: 3, 0.5, true, "text", [0.9, 0.999].
std::string to_text(const TomlValue& value);

/// Returns the name of the value's type: "an integer", "a string", ...
std::string_view type_name(const TomlValue& value);

inline constexpr int64_t kMostBytes = 9'000'000'000'000'000;  // exact in a double
inline constexpr int64_t kMostSeconds = int64_t(10'000) * 3600;

/// Parses `word` as bytes, into `out`: "24GiB", "1.5 TiB" or "4096B". Returns false if `word` is
/// not a size.
bool as_bytes(std::string_view word, int64_t& out);

/// Parses `word` as bytes in powers of ten, into `out`: "5GB", "1.5 TB" or "200KB". Returns false
/// if `word` is not a size.
bool as_decimal_bytes(std::string_view word, int64_t& out);

/// Parses `word`, "HH:MM:SS" with one to four digits of hours, as seconds, into `out`. Returns
/// false if `word` is not a time.
bool as_clock(std::string_view word, int64_t& out);

/// True if `word` is UTF-8 without control characters, because such text can stand in a file as it
/// is.
bool is_line_of_text(std::string_view word);

}  // namespace zero
