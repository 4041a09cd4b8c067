#include "src/report/escaped_text.hpp"

#include <algorithm>
#include <cstdint>

#include "zero/base/text.hpp"

namespace zero::report {
namespace {

constexpr size_t kWidth = 100;

/// Returns the bytes of the character that `text` begins with, or 0 if it must not be shown.
size_t shown_bytes(std::string_view text) {
  Utf8Checker utf8;
  size_t bytes = 0;
  do {
    if (bytes == text.size() || !utf8.accept(uint8_t(text[bytes]))) return 0;
    ++bytes;
  } while (!utf8.complete());
  const uint8_t first = uint8_t(text[0]);
  const bool is_control =
      first < ' ' || first == 0x7F || (bytes == 2 && first == 0xC2 && uint8_t(text[1]) < 0xA0);
  return is_control ? 0 : bytes;
}

}  // namespace

std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = shown_bytes(text);
    out += bytes == 0 ? "?" : text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : plain(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string in_lines(std::string_view text) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    if (column > 0) out += column + 1 + word.size() > kWidth ? '\n' : ' ';
    column = column > 0 && out.back() == ' ' ? column + 1 + word.size() : word.size();
    out += word;
  }
  return out + "\n";
}

std::string name_of_run(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1));
}

}  // namespace zero::report
