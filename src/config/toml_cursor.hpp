#pragma once
/// Shared parts of the readers of TOML, JSON and YAML.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {

/// A syntax error. The readers catch it and add the place.
struct SyntaxError {
  std::string what;
};

/// A position in a text. peek() returns '\0' at the end; texts never contain it.
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
  /// Moves to the next line break, without consuming it.
  void skip_line() {
    while (!done() && peek() != '\n') ++at;
  }
};

struct UnfitText {
  int line;
  std::string what;
};

/// Returns the text without a UTF-8 byte order mark, which editors write at the start of a file.
inline std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

/// Returns the fault of a text that no grammar accepts: length, encoding, long lines or control
/// bytes.
std::optional<UnfitText> unfit_text(std::string_view text, size_t max_bytes, size_t max_line);

/// Reads a value. Throws SyntaxError.
TomlValue read_toml_value(TextCursor& cursor);

/// Parses the whole word as an integer or a float. Throws SyntaxError.
TomlScalar read_toml_number(std::string_view word);

/// Takes a word of digits, letters, signs, points, colons and underscores; may be empty.
std::string_view take_word(TextCursor& cursor);

/// The legal escapes in double quotes. Single quotes allow none.
enum class Escapes { toml, json };

/// Reads a quoted string that starts at the cursor and ends on its line. Throws SyntaxError.
std::string read_quoted(TextCursor& cursor, Escapes escapes);

/// True for control characters, which no line of text contains: below the blank, or 127.
inline bool is_control(char c) { return uint8_t(c) < ' ' || c == 127; }

/// Returns the character in quotes, 'x', or its number if it is not printable.
std::string quoted(char c);

template <class... Parts>
[[noreturn]] void syntax(const Parts&... parts) {
  throw SyntaxError{text(parts...)};
}

}  // namespace zero
