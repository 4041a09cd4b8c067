#pragma once
/// Sets of characters that rules of tokenizer.json name, as `tokenizers` 0.23.3 has them.

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero {

/// A range of code points.
struct CodeRange {
  uint32_t first = 0, last = 0;
};

inline constexpr size_t kDigitRangeCount = 146, kWordRangeCount = 796;
extern const std::array<CodeRange, kDigitRangeCount> kDigitRanges;  ///< of Digits: Unicode 17
extern const std::array<CodeRange, kWordRangeCount> kWordRanges;    ///< beside single_word

/// True if the pre-tokenizer Digits takes a character for a digit.
bool is_digit(uint32_t code_point);
/// True if a token with single_word is ordinary text beside this character.
bool is_word_character(uint32_t code_point);

}  // namespace zero
