#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/text/unicode_classes.hpp"

namespace zero {

/// A character at a place of a text.
struct Character {
  CharClass kind = CharClass::kOther;
  bool broken = false;  ///< true for a byte outside UTF-8
  uint8_t bytes = 1;
  uint32_t code_point = 0;  ///< the byte if it is broken
};

/// The classes of ASCII, which has nearly all characters of an English text.
inline constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  for (size_t c = 0; c < classes.size(); ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (letter) classes[c] = CharClass::kLetter;
    if (c >= '0' && c <= '9') classes[c] = CharClass::kNumber;
    if (blank) classes[c] = CharClass::kBlank;
  }
  return classes;
}();

/// Returns the character at `at`, whose byte is not ASCII.
Character wide_character(std::string_view text, size_t at);

/// Returns the character at byte `at`. REQUIRES: at < text.size().
inline Character character(std::string_view text, size_t at) {
  const auto byte = uint8_t(text[at]);
  if (byte >= 0x80) return wide_character(text, at);
  return {.kind = kAsciiClasses[byte], .code_point = byte};
}

/// Returns the place of the UTF-8 character whose last byte is in front of `end`.
/// REQUIRES: end > 0.
inline size_t last_character(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (uint8_t(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

/// Appends a code point as UTF-8.
void append_utf8(uint32_t code_point, std::string& out);

}  // namespace zero
