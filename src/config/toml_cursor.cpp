#include "src/config/toml_cursor.hpp"

#include <charconv>

#include "zero/base/text.hpp"

namespace zero {
namespace {

/// Returns the name of an encoding with characters of two or four bytes, recognized by its mark or
/// by zeros beside the first letters; "" for any other text.
std::string_view wide_encoding(std::string_view text) {
  if (text.starts_with(std::string_view("\xFF\xFE\0\0", 4))) return "UTF-32";
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return "UTF-16";
  if (text.size() < 4 || text.size() % 2 != 0) return "";
  const bool zeros[] = {text[0] == 0, text[1] == 0, text[2] == 0, text[3] == 0};
  if (!zeros[0] && zeros[1] && !zeros[2] && zeros[3]) return "UTF-16LE";
  if (zeros[0] && !zeros[1] && zeros[2] && !zeros[3]) return "UTF-16BE";
  return "";
}

}  // namespace

std::optional<UnfitText> unfit_text(std::string_view text, size_t max_bytes, size_t max_line) {
  if (text.size() > max_bytes) {
    return UnfitText{
        1, zero::text("the file has ", text.size(), " bytes; at most ", max_bytes, " are read")};
  }
  if (const std::string_view wide = wide_encoding(text); !wide.empty()) {
    return UnfitText{1, zero::text("the file is ", wide, " text; write it as UTF-8: iconv -f ",
                                   wide, " -t UTF-8 FILE > NEW")};
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

namespace {

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

bool is_surrogate(uint32_t point) { return point >= 0xD800 && point < 0xE000; }

/// Reads the digits after \u or \U. In JSON two \u form a character above U+FFFF.
uint32_t read_code_point(TextCursor& cursor, Escapes escapes, size_t digits) {
  uint32_t point = take_hexadecimal(cursor, digits);
  const bool json = escapes == Escapes::json;
  if (json && point >= 0xD800 && point < 0xDC00 &&
      cursor.text.substr(cursor.at).starts_with("\\u")) {
    cursor.at += 2;
    const uint32_t low = take_hexadecimal(cursor, 4);
    if (low < 0xDC00 || low >= 0xE000) syntax("\\u of half a character");
    return 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  }
  if (point == 0 || point > 0x10FFFF || is_surrogate(point)) {
    syntax(json ? "\\u of no character"
                : "\\u wants 4 and \\U wants 8 hexadecimal digits of a character");
  }
  return point;
}

/// Reads an escape after its backslash.
void read_escape(TextCursor& cursor, Escapes escapes, std::string& out) {
  const std::string_view names = "btnfr\"\\/", values = "\b\t\n\f\r\"\\/";
  const bool json = escapes == Escapes::json;
  const char name = cursor.peek();
  const size_t plain = names.find(name);
  if (name == 'u' || (name == 'U' && !json)) {
    cursor.take();
    append_utf8(out, read_code_point(cursor, escapes, name == 'u' ? 4 : 8));
  } else if (plain != names.npos && (json || name != '/')) {
    cursor.take();
    out += values[plain];
  } else if (json) {
    syntax("\\", quoted(name), " is no escape");
  } else {
    syntax("\\", name, " is no escape; write \\\\ for a backslash, or 'single quotes'");
  }
}

}  // namespace

std::string read_quoted(TextCursor& cursor, Escapes escapes) {
  const char quote = cursor.take();
  std::string out;
  while (cursor.peek() != quote) {
    if (cursor.done() || cursor.peek() == '\n') syntax("the string is not closed on its line");
    const char c = cursor.take();
    if (c == '\\' && quote == '"') {
      read_escape(cursor, escapes, out);
    } else {
      out += c;
    }
  }
  cursor.take();
  return out;
}

}  // namespace zero
