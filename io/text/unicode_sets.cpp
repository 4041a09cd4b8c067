#include <algorithm>

#include "io/text/unicode_ranges.hpp"

namespace zero {
namespace {

template <size_t kCount>
bool holds(const std::array<CodeRange, kCount>& ranges, uint32_t code_point) {
  const auto found = std::ranges::lower_bound(ranges, code_point, {}, &CodeRange::last);
  return found != ranges.end() && found->first <= code_point;
}

}  // namespace

bool is_digit(uint32_t code_point) {
  return code_point < 0x80 ? code_point >= '0' && code_point <= '9'
                           : holds(kDigitRanges, code_point);
}

bool is_word_character(uint32_t code_point) { return holds(kWordRanges, code_point); }

}  // namespace zero
