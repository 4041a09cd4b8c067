#pragma once
/// What a byte-level BPE and blanks in front of special tokens ask of a character.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zero {

/// The bytes of the character of white space at byte `at` of `text`; 0 if another one is there.
size_t blank_bytes(std::string_view text, size_t at);

/// The classes of characters that the pattern tells apart, as `tokenizers` 0.23.3 does: Unicode
/// 16.0. A table and not a library for regular expressions, because the machine's may know another
/// Unicode, which would cut a text into other words.
enum class CharClass : uint8_t { kOther, kLetter, kNumber, kBlank };

inline constexpr int kClassBorders = 1610;
/// Ascending: code point * 4 + class, wherever a class other than the last begins; from 0 on.
extern const std::array<uint32_t, kClassBorders> kClassTable;

}  // namespace zero
