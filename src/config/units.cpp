#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "src/config/text_cursor.hpp"
#include "zero/base/text.hpp"
#include "zero/config/toml.hpp"

namespace zero {
namespace {

bool as_count(std::string_view digits, int64_t& out) {
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, out);
  return error == std::errc() && end == last && digits[0] != '-';
}

/// A number with one of `units`, each of which is `step` times the one before it.
bool as_size(std::string_view word, std::span<const std::string_view> units, double step,
             int64_t& out) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || !(number > 0)) return false;
  std::string_view unit = word.substr(size_t(end - word.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto found = std::find(units.begin(), units.end(), unit);
  if (found == units.end()) return false;
  const double bytes = number * std::pow(step, double(found - units.begin()));
  if (bytes < 1 || bytes > double(kMostBytes)) return false;
  out = int64_t(bytes);
  return true;
}

}  // namespace

bool as_bytes(std::string_view word, int64_t& out) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return as_size(word, kUnits, 1024, out);
}

bool as_decimal_bytes(std::string_view word, int64_t& out) {
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  return as_size(word, kUnits, 1000, out);
}

bool as_clock(std::string_view word, int64_t& out) {
  constexpr size_t kTail = 6;  // of ":MM:SS"
  if (word.size() <= kTail || word.size() > kTail + 4) return false;
  const std::string_view tail = word.substr(word.size() - kTail);
  int64_t hours = 0, minutes = 0, seconds = 0;
  const bool read = tail[0] == ':' && tail[3] == ':' &&
                    as_count(word.substr(0, word.size() - kTail), hours) &&
                    as_count(tail.substr(1, 2), minutes) && as_count(tail.substr(4), seconds);
  if (!read || minutes > 59 || seconds > 59) return false;
  out = (hours * 60 + minutes) * 60 + seconds;
  return true;
}

bool is_line_of_text(std::string_view word) {
  Utf8Checker utf8;
  const auto fits = [&utf8](char c) { return !is_control(c) && utf8.accept(uint8_t(c)); };
  return std::all_of(word.begin(), word.end(), fits) && utf8.complete();
}

}  // namespace zero
