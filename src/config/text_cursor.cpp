#include "src/config/text_cursor.hpp"

#include <charconv>

#include "zero/base/utf8.hpp"

namespace zero {

std::optional<UnfitText> unfit_text(std::string_view text, size_t max_bytes, size_t max_line) {
  if (text.size() > max_bytes) {
    return UnfitText{
        1, zero::text("the file has ", text.size(), " bytes; at most ", max_bytes, " are read")};
  }
  Utf8Checker utf8;
  int line = 1;
  size_t column = 0;
  for (const char c : text) {
    const bool space = c == '\t' || c == '\n' || c == '\r';
    if (is_control(c) && !space) return UnfitText{line, quoted(c) + " is no text"};
    if (!utf8.accept(uint8_t(c))) {
      return UnfitText{line, quoted(char(utf8.first())) + " is no UTF-8 text"};
    }
    if (++column > max_line) {
      return UnfitText{line, zero::text("a line of more than ", max_line, " bytes")};
    }
    if (c == '\n') ++line, column = 0;
  }
  if (!utf8.complete()) return UnfitText{line, "the last character is cut off"};
  return std::nullopt;
}

std::string quoted(char c) {
  if (c > ' ' && c < 127) return std::string("'") + c + "'";
  return text("byte ", int(uint8_t(c)));
}

std::string_view take_word(TextCursor& cursor) {
  const size_t first = cursor.at;
  const auto belongs = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && std::string_view("+-._:").find(c) != std::string_view::npos);
  };
  while (belongs(cursor.peek())) ++cursor.at;
  return cursor.text.substr(first, cursor.at - first);
}

uint32_t take_hexadecimal(TextCursor& cursor, size_t digits) {
  const std::string_view hex = cursor.text.substr(cursor.at, digits);
  uint32_t point = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
  if (hex.size() != digits || error != std::errc() || end != hex.data() + digits) {
    syntax("a character's number wants ", digits, " hexadecimal digits");
  }
  cursor.at += digits;
  return point;
}

void append_utf8(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out += char(point);
  } else if (point < 0x800) {
    out += {char(0xC0 | (point >> 6)), char(0x80 | (point & 0x3F))};
  } else if (point < 0x10000) {
    out += {char(0xE0 | (point >> 12)), char(0x80 | ((point >> 6) & 0x3F)),
            char(0x80 | (point & 0x3F))};
  } else {
    out += {char(0xF0 | (point >> 18)), char(0x80 | ((point >> 12) & 0x3F)),
            char(0x80 | ((point >> 6) & 0x3F)), char(0x80 | (point & 0x3F))};
  }
}

}  // namespace zero
