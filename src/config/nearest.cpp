#include "src/config/nearest.hpp"

#include <algorithm>

namespace zero {
namespace {

constexpr size_t kLongest = 80;  // longer keys are no slips of the finger

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

/// No fewer edits than this turn one into the other.
size_t gap(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + !same});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest_key(std::string_view key, const std::vector<std::string>& keys) {
  if (key.size() > kLongest) return "";
  const std::string_view last = last_part(key);
  std::string best;
  size_t best_score = std::max<size_t>(2, last.size() / 3) + 1, best_whole = 0;
  for (const std::string& candidate : keys) {
    const std::string_view candidate_last = last_part(candidate);
    if (std::min(gap(key, candidate), gap(last, candidate_last) + 2) > best_score) continue;
    const size_t whole = edit_distance(key, candidate);
    const size_t score = std::min(whole, edit_distance(last, candidate_last) + 2);
    if (score < best_score || (score == best_score && !best.empty() && whole < best_whole)) {
      best = candidate, best_score = score, best_whole = whole;
    }
  }
  return best;
}

}  // namespace zero
