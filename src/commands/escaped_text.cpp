#include "src/commands/escaped_text.hpp"

#include <cstdint>

#include "zero/base/text.hpp"

namespace zero::commands {
namespace {

/// The bytes of the whole character that `bytes` begins with; 0 if there is none.
size_t character_length(std::string_view bytes) {
  Utf8Checker utf8;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!utf8.accept(uint8_t(bytes[i]))) return 0;
    if (utf8.complete()) return i + 1;
  }
  return 0;
}

std::string escaped_byte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return format("\\x%02x", uint8_t(byte));
  }
}

bool stands_for_itself(char byte) {
  const bool control = uint8_t(byte) < ' ' || byte == 0x7f;
  return !control && byte != '"' && byte != '\\';
}

}  // namespace

std::string escaped_text(std::string_view bytes, size_t width) {
  std::string out = "\"";
  size_t used = 0;
  while (!bytes.empty()) {
    const size_t length = character_length(bytes);
    const bool whole = length > 0 && stands_for_itself(bytes[0]);
    const std::string shown = whole ? std::string(bytes.substr(0, length)) : escaped_byte(bytes[0]);
    used += whole ? 1 : shown.size();
    if (used > width) return out + "\"...";
    out += shown;
    bytes.remove_prefix(whole ? length : 1);
  }
  return out + "\"";
}

}  // namespace zero::commands
