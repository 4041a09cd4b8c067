#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/error.hpp"

namespace zero {

/// Returns "1 rank", "2 ranks": `number` and the singular `word`, with an s for other numbers.
inline std::string counted(int64_t number, std::string_view word) {
  return text(number, " ", word, number == 1 ? "" : "s");
}

/// Appends to `out` the output of printf for `pattern` and `values`, at most 255 characters.
/// Allocates nothing if `out` has room.
template <class... Values>
void append(std::string& out, const char* pattern, Values... values) {
  char part[256];
  std::snprintf(part, sizeof part, pattern, values...);
  out += part;
}

/// Returns the output of printf for `pattern` and `values`, at most 255 characters.
template <class... Values>
std::string format(const char* pattern, Values... values) {
  std::string out;
  append(out, pattern, values...);
  return out;
}

/// Returns a count of bytes as text in the largest fitting unit: "1.25 GiB".
std::string bytes_text(double bytes);

/// Returns bytes as text: two lower-case hexadecimal digits each.
std::string hex_of(std::span<const uint8_t> bytes);

/// A check of UTF-8, byte by byte, for texts that come in pieces of any length. It refuses overlong
/// forms, surrogates and code points above U+10FFFF, as RFC 3629 does.
class Utf8Checker {
 public:
  /// Takes the next byte of the text. Returns false if it cannot follow the bytes before it in
  /// UTF-8.
  bool accept(uint8_t byte) {
    if (pending_ == 0) return start(byte);
    ++before_;
    if (byte < low_ || byte > high_) return false;
    low_ = 0x80, high_ = 0xBF;
    --pending_;
    return true;
  }
  /// True unless the bytes taken so far end within a character.
  bool complete() const { return pending_ == 0; }
  /// Returns the first byte of the latest character, also if it is refused or cut off. before()
  /// returns the count of its bytes ahead of the latest one. An error can thus name the place where
  /// damage begins.
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
  uint8_t low_ = 0x80, high_ = 0xBF;  // bounds of the next continuation byte
};

/// Returns the least edits (insertions, deletions, replacements, swaps of neighbours) between `a`
/// and `b`, or `most` + 1 if there are more. REQUIRES: `b` has at most 100 characters.
size_t edit_distance(std::string_view a, std::string_view b, size_t most = SIZE_MAX - 1);

/// Returns the dotted key of `keys` that a user most likely meant by `key`, or "" if none is near.
/// The whole key or its last part, in another section, is spelled alike.
std::string nearest_key(std::string_view key, const std::vector<std::string>& keys);

inline constexpr std::string_view kBlanks = " \t\r";  ///< characters of a line without text

/// True if the line has no text.
inline bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

/// Returns a note on a count of blank lines: "2 blank lines at the end are passed over".
inline std::string blank_lines_text(int64_t lines) {
  return text(counted(lines, "blank line"), " at the end ", lines == 1 ? "is" : "are",
              " passed over");
}

}  // namespace zero
