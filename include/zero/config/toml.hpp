#pragma once
/// A strict subset of TOML 1.0: [sections] and [dotted.sections], bare and dotted keys, "basic" and
/// 'literal' strings on one line, decimal integers and floats with underscores, booleans, arrays of
/// those (no nesting, several lines allowed), comments. Refused with a reason: dates, inline
/// tables, [[arrays of tables]], quoted keys, multi-line strings, other number bases, inf and nan.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zero {

using TomlScalar = std::variant<bool, int64_t, double, std::string>;
using TomlArray = std::vector<TomlScalar>;
using TomlValue = std::variant<bool, int64_t, double, std::string, TomlArray>;

struct TomlEntry {
  std::string key;      ///< with its section: "zero.stage"
  std::string section;  ///< that of the header above it; "" where there is none
  TomlValue value;
  int line;  ///< from 1, where the key stands
};

struct TomlSection {
  std::string name;  ///< of [name]
  int line;
};

struct TomlProblem {
  int line;
  std::string key;   ///< "" where none was read
  std::string what;  ///< what is wrong, and what would work
};

struct TomlDocument {
  std::vector<TomlEntry> entries;     ///< in the order of the text; each key once
  std::vector<TomlSection> sections;  ///< the headers, in the order of the text; each once
  std::vector<TomlProblem> problems;
};

inline constexpr size_t kTomlMaxBytes = 64 * 1024;
inline constexpr size_t kTomlMaxLine = 4000;
inline constexpr size_t kTomlMaxDepth = 8;       ///< parts of a key
inline constexpr size_t kTomlMaxProblems = 100;  ///< then it gives up

/// Never throws on any text: what it cannot read becomes a problem, and reading goes on at the next
/// line.
TomlDocument parse_toml(std::string_view text);

/// One value that fills the whole text. False and a problem's text in `what` if it is none.
bool parse_toml_value(std::string_view text, TomlValue& value, std::string& what);

/// One value as it is typed on a command line: TOML, else the word itself as a string. False and a
/// problem's text if it begins like TOML's strings and arrays and is none.
bool parse_toml_word(std::string_view word, TomlValue& value, std::string& what);

/// Whether `key` is one to kTomlMaxDepth bare keys joined by dots.
bool is_toml_key(std::string_view key);

/// As in a file: 3, 0.5, true, "text", [0.9, 0.999].
std::string to_text(const TomlValue& value);

/// "an integer", "a string", ...
std::string_view type_name(const TomlValue& value);

inline constexpr int64_t kMostBytes = 9'000'000'000'000'000;  // exact in a double
inline constexpr int64_t kMostSeconds = int64_t(10'000) * 3600;

/// The bytes of "24GiB", "1.5 TiB" or "4096B"; false if it is no size.
bool as_bytes(std::string_view word, int64_t& out);

/// The bytes of "5GB", "1.5 TB" or "200KB", powers of ten; false if it is no size.
bool as_decimal_bytes(std::string_view word, int64_t& out);

/// The seconds of "HH:MM:SS" with one to four digits of hours; false if it is no such time.
bool as_clock(std::string_view word, int64_t& out);

/// Whether it is UTF-8 without control characters, and so can stand in a file as it is.
bool is_line_of_text(std::string_view word);

}  // namespace zero
