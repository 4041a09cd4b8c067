#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zero {

/// A regular expression that cuts a text into words. kLlama3 takes up to three numbers together,
/// kQwen each alone.
enum class WordPattern : uint8_t { kByteLevel, kLlama3, kQwen };

/// Returns the pattern that is written so, or none.
std::optional<WordPattern> word_pattern(std::string_view regex);

/// Returns the end of the word at byte `at` of `text`. A byte outside UTF-8 characters is a word of
/// its own. Reads at most one character past the word, but of blanks all that follow one another.
/// REQUIRES: at < text.size().
size_t word_end(WordPattern pattern, std::string_view text, size_t at);

/// Returns the end of the stretch at `at` that the pre-tokenizer Digits keeps together: one digit,
/// or with `joined` a run of digits; or a run of other characters. REQUIRES: at < text.size().
size_t digits_end(std::string_view text, size_t at, bool joined);

}  // namespace zero
