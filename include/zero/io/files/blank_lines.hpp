#pragma once
/// Blank lines at the end of files.

#include <cstdint>
#include <string>
#include <string_view>

#include "zero/base/text.hpp"

namespace zero {

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
