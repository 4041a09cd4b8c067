#include "io/data/bpe_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "zero/base/text.hpp"

namespace zero {
namespace {

constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t",  "'re", "'ve",
                                                           "'m", "'ll", "'d"};

struct Character {
  CharClass kind = CharClass::kOther;
  bool broken = false;  // a byte that is no UTF-8
  uint8_t bytes = 1;
};

bool same_run(const Character& a, const Character& b) {
  return a.kind == b.kind && !a.broken && !b.broken;
}

CharClass class_of(uint32_t code_point) {
  const uint32_t last_of_it = code_point << 2 | 3;
  const auto next = std::upper_bound(kClassTable.begin(), kClassTable.end(), last_of_it);
  return CharClass(next[-1] & 3);
}

/// The classes of ASCII, where nearly all of an English text is found.
const std::array<CharClass, 128>& ascii_classes() {
  static const auto kClasses = [] {
    std::array<CharClass, 128> classes{};
    for (uint32_t c = 0; c < classes.size(); ++c) classes[c] = class_of(c);
    return classes;
  }();
  return kClasses;
}

Character wide_character(std::string_view text, size_t at) {
  const auto lead = uint8_t(text[at]);
  const int bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code_point = lead & (0x7Fu >> bytes);
  Utf8Checker utf8;
  for (int i = 0; i < bytes; ++i) {
    if (at + size_t(i) >= text.size()) return {.broken = true};
    const auto byte = uint8_t(text[at + size_t(i)]);
    if (!utf8.accept(byte)) return {.broken = true};
    if (i > 0) code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {.kind = class_of(code_point), .bytes = uint8_t(bytes)};
}

Character character(std::string_view text, size_t at) {
  const auto byte = uint8_t(text[at]);
  return byte < 0x80 ? Character{.kind = ascii_classes()[byte]} : wide_character(text, at);
}

size_t contraction(std::string_view rest) {
  if (rest[0] != '\'') return 0;
  for (const std::string_view word : kContractions) {
    if (rest.starts_with(word)) return word.size();
  }
  return 0;
}

size_t run_end(std::string_view text, size_t at, const Character& first) {
  while (at < text.size()) {
    const Character next = character(text, at);
    if (!same_run(next, first)) break;
    at += next.bytes;
  }
  return at;
}

/// Blanks up to the end of the text are one word; before a word they leave it their last one.
size_t blanks_end(std::string_view text, size_t at) {
  const Character first = character(text, at);
  const size_t end = run_end(text, at, first);
  if (end == text.size()) return end;
  size_t last = end - 1;
  while (last > at && (uint8_t(text[last]) & 0xC0) == 0x80) --last;
  return last == at ? end : last;
}

}  // namespace

size_t word_end(std::string_view text, size_t at) {
  if (const size_t bytes = contraction(text.substr(at))) return at + bytes;
  Character first = character(text, at);
  if (text[at] == ' ' && at + 1 < text.size()) {
    const Character next = character(text, at + 1);
    if (next.kind != CharClass::kBlank && !next.broken) {
      ++at;
      first = next;
    }
  }
  if (first.broken) return at + 1;
  if (first.kind == CharClass::kBlank) return blanks_end(text, at);
  return run_end(text, at + first.bytes, first);
}

size_t blank_bytes(std::string_view text, size_t at) {
  const Character found = character(text, at);
  return !found.broken && found.kind == CharClass::kBlank ? found.bytes : 0;
}

}  // namespace zero
