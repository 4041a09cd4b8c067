#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zero {

/// Returns the count of bytes of the white-space character (as in Python's str.split()) that begins
/// at byte `at` of a text. 0 if none begins there.
size_t white_bytes(std::string_view text, size_t at);

/// Returns the count of bytes in a text before the white space at its end.
size_t bytes_before_end_blanks(std::string_view text);

/// Returns the number of pieces that runs of white space cut a text into, as Python's
/// re.split(r"\s+"). Pieces before the first and behind the last run count, even if empty.
int64_t pieces_between_blanks(std::string_view text);

}  // namespace zero
