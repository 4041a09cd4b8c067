#include "io/text/word_pattern.hpp"

#include <array>

#include "io/text/bpe_tokenizer.hpp"
#include "io/text/characters.hpp"
#include "io/text/unicode_ranges.hpp"

namespace zero {
namespace {

constexpr std::string_view kByteLevelRegex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwenRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr int kMostNumbers = 3;  // together, in kLlama3
constexpr uint32_t kLongS = 0x17F;

bool is_line_end(char c) { return c == '\r' || c == '\n'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }

bool is(const Character& character, CharClass kind) {
  return character.kind == kind && !character.broken;
}

/// Returns the bytes of a contraction at `at`, in any case. The case folding of Unicode takes
/// U+017F for an s.
size_t contraction(std::string_view text, size_t at) {
  if (text[at] != '\'' || at + 1 == text.size()) return 0;
  const Character next = character(text, at + 1);
  if (!next.broken && next.code_point == kLongS) return 1 + next.bytes;
  const char first = lower(text[at + 1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = at + 2 < text.size() ? lower(text[at + 2]) : '\0';
  const bool is_long = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                       (first == 'l' && second == 'l');
  return is_long ? 3 : 0;
}

/// Returns the end of the run of a class at `at`, of at most `most` characters.
size_t run_end(std::string_view text, size_t at, CharClass kind, int most = 0) {
  for (int count = 0; at < text.size() && (most == 0 || count < most); ++count) {
    const Character next = character(text, at);
    if (!is(next, kind)) break;
    at += next.bytes;
  }
  return at;
}

size_t line_ends_end(std::string_view text, size_t at) {
  while (at < text.size() && is_line_end(text[at])) ++at;
  return at;
}

/// Returns the end of a word of blanks: through the last end of a line among them. Without one it
/// leaves its last blank to the next word, if there is one.
size_t blanks_end(std::string_view text, size_t at) {
  const size_t end = run_end(text, at, CharClass::kBlank);
  const size_t line_end = text.substr(at, end - at).find_last_of("\r\n");
  if (line_end != std::string_view::npos) return at + line_end + 1;
  const size_t last = last_character(text, end);
  return end == text.size() || last == at ? end : last;
}

size_t modern_end(std::string_view text, size_t at, int numbers) {
  if (const size_t bytes = contraction(text, at)) return at + bytes;
  const Character first = character(text, at);
  if (first.broken) return at + 1;
  if (first.kind == CharClass::kLetter) return run_end(text, at, CharClass::kLetter);
  if (first.kind == CharClass::kNumber) return run_end(text, at, CharClass::kNumber, numbers);
  const size_t next = at + first.bytes;
  const bool has_next = next < text.size();
  if (has_next && !is_line_end(text[at]) && is(character(text, next), CharClass::kLetter))
    return run_end(text, next, CharClass::kLetter);
  const bool blank_goes_along =
      has_next && text[at] == ' ' && is(character(text, next), CharClass::kOther);
  if (first.kind == CharClass::kBlank && !blank_goes_along) return blanks_end(text, at);
  return line_ends_end(text, run_end(text, blank_goes_along ? next : at, CharClass::kOther));
}

}  // namespace

std::optional<WordPattern> word_pattern(std::string_view regex) {
  if (regex == kByteLevelRegex) return WordPattern::kByteLevel;
  if (regex == kLlama3Regex) return WordPattern::kLlama3;
  if (regex == kQwenRegex) return WordPattern::kQwen;
  return std::nullopt;
}

size_t word_end(WordPattern pattern, std::string_view text, size_t at) {
  if (pattern == WordPattern::kByteLevel) return word_end(text, at);
  return modern_end(text, at, pattern == WordPattern::kLlama3 ? kMostNumbers : 1);
}

size_t digits_end(std::string_view text, size_t at, bool joined) {
  const auto digit_bytes = [&](size_t place) -> size_t {
    const Character next = character(text, place);
    return !next.broken && is_digit(next.code_point) ? next.bytes : 0;
  };
  const bool digits = digit_bytes(at) > 0;
  if (digits && !joined) return at + digit_bytes(at);
  while (at < text.size()) {
    if ((digit_bytes(at) > 0) != digits) break;
    at += character(text, at).bytes;
  }
  return at;
}

}  // namespace zero
