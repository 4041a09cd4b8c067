#include "io/text/added_tokens.hpp"

#include <algorithm>

#include "io/text/characters.hpp"
#include "io/text/unicode_ranges.hpp"

namespace zero {
namespace {

ByteTrie trie_of_reversed(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> reversed;
  for (const AddedToken& token : tokens)
    reversed.emplace_back(token.text.rbegin(), token.text.rend());
  std::vector<ByteTrie::Entry> entries;
  for (size_t i = 0; i < reversed.size(); ++i)
    entries.push_back({.text = reversed[i], .value = int32_t(i)});
  std::ranges::stable_sort(entries, {}, &ByteTrie::Entry::text);
  return ByteTrie(entries);
}

}  // namespace

std::string_view without_blanks_before(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = blank_bytes(text, 0);
    if (bytes == 0) break;
    text.remove_prefix(bytes);
  }
  return text;
}

std::string_view without_blanks_behind(std::string_view text) {
  while (!text.empty()) {
    const size_t at = last_character(text, text.size());
    if (blank_bytes(text, at) != text.size() - at) break;
    text = text.substr(0, at);
  }
  return text;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.text.empty(); });
  std::ranges::stable_sort(tokens_, std::ranges::greater{},
                           [](const AddedToken& token) { return token.text.size(); });
  for (const AddedToken& token : tokens_) {
    if (token.special) special_.insert(token.id);
  }
  trie_ = trie_of_reversed(tokens_);
  link_nodes();
}

/// Links each node to nodes before it, which are linked already.
void AddedTokens::link_nodes() {
  from_root_.fill(0);
  for (uint32_t node = trie_.first_child(0); node < trie_.first_child(1); ++node)
    from_root_[trie_.byte(node)] = node;
  shorter_.resize(trie_.nodes());
  longest_.resize(trie_.nodes(), ByteTrie::kNoValue);
  for (uint32_t node = 0; node < trie_.nodes(); ++node) {
    const int32_t own = trie_.value(node);
    longest_[node] = own >= 0 ? own : longest_[shorter_[node]];
    for (uint32_t child = trie_.first_child(node); child < trie_.first_child(node + 1); ++child)
      shorter_[child] = node == 0 ? 0 : step(shorter_[node], trie_.byte(child));
  }
}

/// Returns the node of the longest end of what was read that begins a token.
uint32_t AddedTokens::step(uint32_t node, uint8_t byte) const {
  for (; node != 0; node = shorter_[node]) {
    const uint32_t child = trie_.child(node, byte);
    if (child != ByteTrie::kNoNode) return child;
  }
  return from_root_[byte];
}

/// Returns the longest token at each place where a token begins, the last place first.
std::vector<AddedTokens::Match> AddedTokens::matches(std::string_view text) const {
  std::vector<Match> found;
  uint32_t node = 0;
  for (size_t at = text.size(); at-- > 0;) {
    node = step(node, uint8_t(text[at]));
    if (longest_[node] >= 0) found.push_back({.at = at, .token = longest_[node]});
  }
  return found;
}

/// True if the match of a token at `at` is that token.
bool AddedTokens::counts(std::string_view text, size_t at, const AddedToken& token,
                         SpecialNames names) const {
  if (names == SpecialNames::kText && token.special) return false;
  if (!token.single_word) return true;
  const auto is_word = [&](size_t place) {
    const Character beside = character(text, place);
    return !beside.broken && is_word_character(beside.code_point);
  };
  const size_t end = at + token.text.size();
  return (at == 0 || !is_word(last_character(text, at))) && (end == text.size() || !is_word(end));
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, SpecialNames names) const {
  std::vector<Part> parts;
  size_t first = 0;  // start of the stretch since the last token
  size_t free = 0;   // end of the last match
  bool strips = false;
  const auto end_stretch = [&](size_t end, bool strips_end) {
    std::string_view stretch = text.substr(first, end - first);
    if (strips) stretch = without_blanks_before(stretch);
    if (strips_end) stretch = without_blanks_behind(stretch);
    if (!stretch.empty()) parts.push_back({.text = stretch});
  };
  const std::vector<Match> found = tokens_.empty() ? std::vector<Match>() : matches(text);
  for (auto match = found.rbegin(); match != found.rend(); ++match) {
    if (match->at < free) continue;
    const AddedToken& token = tokens_[size_t(match->token)];
    free = match->at + token.text.size();
    if (!counts(text, match->at, token, names)) continue;
    end_stretch(match->at, token.strips_left);
    parts.push_back({.text = text.substr(match->at, token.text.size()), .id = token.id});
    first = free;
    strips = token.strips_right;
  }
  end_stretch(text.size(), false);
  return parts;
}

}  // namespace zero
