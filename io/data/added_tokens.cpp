#include <algorithm>

#include "io/data/bpe_words.hpp"
#include "io/data/tokenizers.hpp"

namespace zero {
namespace {

/// Where the UTF-8 character begins whose last byte is in front of `end`.
size_t last_character(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (uint8_t(text[at]) & 0xC0) == 0x80) --at;
  return at;
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
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.text.size() > b.text.size();
  });
  for (const AddedToken& token : tokens_) {
    with_[uint8_t(token.text[0])].push_back(&token);
    if (token.special) special_.insert(token.id);
  }
}

const AddedToken* AddedTokens::token_at(std::string_view text, size_t at) const {
  for (const AddedToken* token : with_[uint8_t(text[at])]) {
    if (text.substr(at).starts_with(token->text)) return token;
  }
  return nullptr;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text) const {
  std::vector<Part> parts;
  size_t first = 0;  // of the stretch that no token has ended yet
  bool strips = false;
  const auto end_stretch = [&](size_t end, bool strips_end) {
    std::string_view stretch = text.substr(first, end - first);
    if (strips) stretch = without_blanks_before(stretch);
    if (strips_end) stretch = without_blanks_behind(stretch);
    if (!stretch.empty()) parts.push_back({.text = stretch});
  };
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = tokens_.empty() ? nullptr : token_at(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    end_stretch(at, token->strips_left);
    parts.push_back({.text = text.substr(at, token->text.size()), .id = token->id});
    at += token->text.size();
    first = at;
    strips = token->strips_right;
  }
  end_stretch(text.size(), false);
  return parts;
}

}  // namespace zero
