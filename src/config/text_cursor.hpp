#pragma once
/// What the readers of TOML, JSON and YAML share.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {

/// Thrown inside the readers only, which catch it and add the place.
struct SyntaxError {
  std::string what;
};

/// A position in the text. peek() is '\0' at the end, which no text contains.
struct TextCursor {
  std::string_view text;
  size_t at = 0;
  int line = 1;

  bool done() const { return at >= text.size(); }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  char take() {
    const char c = peek();
    line += c == '\n';
    at += !done();
    return c;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at;
  }
  void skip_comment() {
    if (peek() == '#') skip_line();
  }
  /// Up to the next line break, which stays.
  void skip_line() {
    while (!done() && peek() != '\n') ++at;
  }
};

struct UnfitText {
  int line;
  std::string what;
};

/// The text behind a UTF-8 byte order mark, which editors write at the start of a file.
inline std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

/// Returns the fault of a text that no grammar reads: its length, its encoding, its lines, bytes
/// that no text has.
std::optional<UnfitText> unfit_text(std::string_view text, size_t max_bytes, size_t max_line);

/// Reads one value. Throws SyntaxError.
TomlValue read_toml_value(TextCursor& cursor);

/// An integer or a float of the whole word. Throws SyntaxError.
TomlScalar read_toml_number(std::string_view word);

/// A word of digits, letters, signs, points, colons and underscores; may be empty.
std::string_view take_word(TextCursor& cursor);

/// Which escapes a string in double quotes may have; in single quotes there are none.
enum class Escapes { toml, json };

/// A string in the quotes that the cursor stands at, on one line. Throws SyntaxError.
std::string read_quoted(TextCursor& cursor, Escapes escapes);

/// Below the blank, or 127: what no line of text holds.
inline bool is_control(char c) { return uint8_t(c) < ' ' || c == 127; }

/// 'x', or its number where it cannot be printed.
std::string quoted(char c);

template <class... Parts>
[[noreturn]] void syntax(const Parts&... parts) {
  throw SyntaxError{text(parts...)};
}

}  // namespace zero
