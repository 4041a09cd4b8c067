#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {

/// "1 rank", "2 ranks": `number` of what `word` names in the singular, whose plural takes an s.
inline std::string counted(int64_t number, std::string_view word) {
  return text(number, " ", word, number == 1 ? "" : "s");
}

/// Adds what printf would say, at most 255 characters. Allocates nothing where `out` has room.
template <class... Values>
void append(std::string& out, const char* pattern, Values... values) {
  char part[256];
  std::snprintf(part, sizeof part, pattern, values...);
  out += part;
}

/// The same as a text of its own.
template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::string out;
  append(out, pattern, values...);
  return out;
}

/// "1.25 GiB"
std::string bytes_text(double bytes);

/// Two lower-case digits a byte.
std::string hex_of(std::span<const uint8_t> bytes);

/// Checks UTF-8 byte by byte, so that a text may come in pieces of any length. Refuses what
/// RFC 3629 refuses: overlong forms, surrogates, code points above U+10FFFF.
class Utf8Checker {
 public:
  /// False if `byte` cannot follow what came before.
  bool accept(uint8_t byte) {
    if (pending_ == 0) return start(byte);
    ++before_;
    if (byte < low_ || byte > high_) return false;
    low_ = 0x80, high_ = 0xBF;
    --pending_;
    return true;
  }
  /// True unless a character is cut off.
  bool complete() const { return pending_ == 0; }
  /// The first byte of the latest character, be it refused or cut off, and how many of its bytes
  /// lie before the latest one: where a damage begins, not where it shows.
  uint8_t first() const { return first_; }
  int before() const { return before_; }

 private:
  bool start(uint8_t byte) {
    first_ = byte, before_ = 0;
    if (byte < 0x80) return true;
    if (byte < 0xC2 || byte > 0xF4) return false;
    pending_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return true;
  }

  int pending_ = 0, before_ = 0;
  uint8_t first_ = 0;
  uint8_t low_ = 0x80, high_ = 0xBF;  // what the next continuation byte may be
};

/// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`;
/// `most` + 1 for all that are more. `b` has at most 100 characters.
size_t edit_distance(std::string_view a, std::string_view b, size_t most = SIZE_MAX - 1);

/// The dotted key that somebody who wrote `key` most likely meant, by its spelling or by its last
/// part under another section; "" if none is near.
std::string nearest_key(std::string_view key, const std::vector<std::string>& keys);

inline constexpr std::string_view kBlanks = " \t\r";  ///< of a line without text

/// True of a line without text.
inline bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

/// "2 blank lines at the end are passed over"
inline std::string blank_lines_text(int64_t lines) {
  return text(counted(lines, "blank line"), " at the end ", lines == 1 ? "is" : "are",
              " passed over");
}

}  // namespace zero
