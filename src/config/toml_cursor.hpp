#pragma once

#include <string>
#include <string_view>

#include "zero/base/error.hpp"
#include "zero/config/toml.hpp"

namespace zero {

/// Thrown inside the parser only; parse_toml() and parse_toml_value() catch it.
struct TomlSyntax {
  std::string what;
};

/// A position in the text. peek() is '\0' at the end, which no text contains.
struct TomlCursor {
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

/// Reads one value. Throws TomlSyntax.
TomlValue read_toml_value(TomlCursor& cursor);

/// 'x', or its number where it cannot be printed.
std::string quoted(char c);

template <class... Parts>
[[noreturn]] void syntax(const Parts&... parts) {
  throw TomlSyntax{text(parts...)};
}

}  // namespace zero
