#pragma once
/// Character classes for a byte-level BPE and for the blanks around special tokens.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zero {

/// Returns the length of the white-space character at byte `at` of `text`; 0 for any other.
size_t blank_bytes(std::string_view text, size_t at);

/// The classes of characters that the pattern tells apart, as `tokenizers` 0.23.3 does: Unicode
/// 16.0. A table replaces a library of regular expressions, because the machine's may have another
/// Unicode, which would cut a text into other words.
enum class CharClass : uint8_t { kOther, kLetter, kNumber, kBlank };

inline constexpr int kClassBorders = 1610;
/// The borders of classes, ascending from 0: code point * 4 + class.
extern const std::array<uint32_t, kClassBorders> kClassTable;

}  // namespace zero
