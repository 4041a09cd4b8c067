#include "io/text/characters.hpp"

#include <algorithm>

#include "zero/base/text.hpp"

namespace zero {
namespace {

CharClass class_of(uint32_t code_point) {
  const uint32_t last_of_it = code_point << 2 | 3;
  const auto next = std::upper_bound(kClassTable.begin(), kClassTable.end(), last_of_it);
  return CharClass(next[-1] & 3);
}

}  // namespace

Character wide_character(std::string_view text, size_t at) {
  const auto lead = uint8_t(text[at]);
  const Character broken{.broken = true, .code_point = lead};
  const int bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code_point = lead & (0x7Fu >> bytes);
  Utf8Checker utf8;
  for (int i = 0; i < bytes; ++i) {
    if (at + size_t(i) >= text.size()) return broken;
    const auto byte = uint8_t(text[at + size_t(i)]);
    if (!utf8.accept(byte)) return broken;
    if (i > 0) code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {.kind = class_of(code_point), .bytes = uint8_t(bytes), .code_point = code_point};
}

size_t blank_bytes(std::string_view text, size_t at) {
  const Character found = character(text, at);
  return !found.broken && found.kind == CharClass::kBlank ? found.bytes : 0;
}

void append_utf8(uint32_t code_point, std::string& out) {
  const auto tail = [&](int shift) { out += char(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    out += char(code_point);
  } else if (code_point < 0x800) {
    out += char(0xC0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += char(0xE0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    out += char(0xF0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace zero
