#pragma once
/// The classes of characters that GPT-2's pattern tells apart, as `tokenizers` 0.23.3 does: Unicode
/// 16.0. A table and not a library for regular expressions, because the machine's knows another
/// Unicode: Debian 12's PCRE2 takes 9,000 characters of version 16 for symbols.

#include <array>
#include <cstdint>

namespace zero {

enum class CharClass : uint8_t { kOther, kLetter, kNumber, kBlank };

inline constexpr int kClassBorders = 1610;
/// Ascending: code point * 4 + class, wherever a class other than the last begins; from 0 on.
extern const std::array<uint32_t, kClassBorders> kClassTable;

}  // namespace zero
