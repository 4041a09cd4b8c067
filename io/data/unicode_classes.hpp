#pragma once
/// The classes of characters that the pattern of a byte-level BPE tells apart, as `tokenizers`
/// 0.23.3 does: Unicode 16.0. A table and not a library for regular expressions, because the
/// machine's may know another Unicode, which would cut a text into other words.

#include <array>
#include <cstdint>

namespace zero {

enum class CharClass : uint8_t { kOther, kLetter, kNumber, kBlank };

inline constexpr int kClassBorders = 1610;
/// Ascending: code point * 4 + class, wherever a class other than the last begins; from 0 on.
extern const std::array<uint32_t, kClassBorders> kClassTable;

}  // namespace zero
