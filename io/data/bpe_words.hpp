#pragma once

#include <cstddef>
#include <string_view>

namespace zero {

/// Where the word ends that begins at byte `at` of `text`, by the pattern of Radford et al. 2019
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// A byte that belongs to no UTF-8 character is a word of its own and no blank. Needs at <
/// text.size(); reads no further than one character after the word.
size_t word_end(std::string_view text, size_t at);

/// The bytes of the character of white space at byte `at` of `text`; 0 if another one is there.
size_t blank_bytes(std::string_view text, size_t at);

}  // namespace zero
