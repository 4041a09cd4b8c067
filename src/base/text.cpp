#include "zero/base/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kLongest = 80;  // characters of a key; nobody mistypes a longer one
constexpr size_t kWidest = 100;  // characters of a known key

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

/// Returns the difference of two lengths, a lower bound of the edits between the words.
size_t gap(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

uint64_t letters_of(std::string_view word) {
  uint64_t letters = 0;
  for (const char c : word) letters |= uint64_t(1) << (c & 63);
  return letters;
}

/// Returns a lower bound of the letters that only one word has. An edit changes at most two.
size_t strange_letters(std::string_view a, std::string_view b) {
  return size_t(std::popcount(letters_of(a) ^ letters_of(b)));
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.2f %s", bytes, kUnits[unit]);
}

std::string hex_of(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  ZERO_REQUIRE(b.size() <= kWidest, "a word of ", b.size(), " characters");
  most = std::min(most, std::max(a.size(), b.size()));
  const size_t more = most + 1;
  if (gap(a, b) > most || strange_letters(a, b) > 2 * most) return more;
  // Row i counts the edits from the first i letters of `a`, near the diagonal alone: elsewhere
  // there are more than `most`.
  using Row = std::array<size_t, kWidest + 2>;
  Row rows[3];
  Row *before = &rows[0], *above = &rows[1], *row = &rows[2];
  std::iota(row->begin(), row->begin() + b.size() + 2, size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    const size_t first = i > most ? i - most : 1, last = std::min(b.size(), i + most);
    (*row)[first - 1] = first == 1 ? i : more;
    (*row)[last + 1] = more;
    for (size_t j = first; j <= last; ++j) {
      const size_t replaced = (*above)[j - 1] + (a[i - 1] != b[j - 1]);
      size_t here = std::min(replaced, std::min((*above)[j], (*row)[j - 1]) + 1);
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) here = std::min(here, (*before)[j - 2] + 1);
      (*row)[j] = here;
    }
  }
  return std::min((*row)[b.size()], more);
}

std::string nearest_key(std::string_view key, const std::vector<std::string>& keys) {
  if (key.size() > kLongest) return "";
  const std::string_view last = last_part(key);
  const std::string* best = nullptr;
  size_t best_score = std::max<size_t>(2, last.size() / 3) + 1, best_whole = 0;
  for (const std::string& candidate : keys) {
    const std::string_view candidate_last = last_part(candidate);
    if (std::min(gap(key, candidate), gap(last, candidate_last) + 2) > best_score) continue;
    const size_t score = std::min(edit_distance(key, candidate, best_score),
                                  edit_distance(last, candidate_last, best_score) + 2);
    if (score > best_score || (score == best_score && !best)) continue;
    const size_t whole = edit_distance(key, candidate);
    // Letters behind a key are likelier than another last letter.
    const bool is_equal = best && score == best_score && whole == best_whole;
    if (score == best_score && whole >= best_whole && !(is_equal && key.starts_with(candidate)))
      continue;
    best = &candidate, best_score = score, best_whole = whole;
  }
  return best ? *best : "";
}

}  // namespace zero
