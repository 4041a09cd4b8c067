#include "zero/base/white_space.hpp"

#include <algorithm>

namespace zero {

size_t white_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : 0; };
  const int first = byte(0);
  if ((first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20)) return 1;
  if (first == 0xC2) return byte(1) == 0x85 || byte(1) == 0xA0 ? 2 : 0;
  if (first == 0xE1) return byte(1) == 0x9A && byte(2) == 0x80 ? 3 : 0;  // U+1680
  if (first == 0xE3) return byte(1) == 0x80 && byte(2) == 0x80 ? 3 : 0;  // U+3000
  if (first != 0xE2) return 0;
  const int last = byte(2);
  if (byte(1) == 0x81) return last == 0x9F ? 3 : 0;  // U+205F
  if (byte(1) != 0x80) return 0;
  const bool space = last >= 0x80 && last <= 0x8A;  // U+2000 to U+200A
  return space || last == 0xA8 || last == 0xA9 || last == 0xAF ? 3 : 0;
}

size_t bytes_before_end_blanks(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t blank = white_bytes(text, at);
    at += std::max<size_t>(blank, 1);
    if (blank == 0) end = at;
  }
  return end;
}

int64_t pieces_between_blanks(std::string_view text) {
  int64_t pieces = 1;
  bool in_blanks = false;
  for (size_t at = 0; at < text.size();) {
    const size_t blank = white_bytes(text, at);
    pieces += blank > 0 && !in_blanks;
    in_blanks = blank > 0;
    at += std::max<size_t>(blank, 1);
  }
  return pieces;
}

}  // namespace zero
