#include "src/usage/help_columns.hpp"

#include <algorithm>

#include "zero/base/error.hpp"

namespace zero::usage {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kIndent = 2;

}  // namespace

std::string wrapped(std::string_view words, size_t indent, size_t begin) {
  std::string out;
  size_t column = begin;
  bool is_first = true;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    if (word.empty()) continue;
    if (!is_first && column + 1 + word.size() > kWidth) {
      out += text("\n", std::string(indent, ' '));
      column = indent;
      is_first = true;
    }
    out += text(is_first ? "" : " ", word);
    column += word.size() + (is_first ? 0 : 1);
    is_first = false;
  }
  std::ranges::replace(out, kJoint, ' ');
  return out + "\n";
}

std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  size_t longest = 0;
  for (const auto& [name, words] : rows) longest = std::max(longest, name.size());
  const size_t column = kIndent + longest + 2;
  std::string out;
  for (const auto& [name, words] : rows) {
    const std::string blanks(words.empty() ? 0 : column - kIndent - name.size(), ' ');
    out += text(std::string(kIndent, ' '), name, blanks, wrapped(words, column, column));
  }
  return out;
}

}  // namespace zero::usage
