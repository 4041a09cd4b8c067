#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/data/byte_trie.hpp"

namespace zero {

/// A token that a text holds by its name.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool strips_left = false, strips_right = false;  ///< takes the blanks on this side with it
  bool special = true;                             ///< left out of a text that skips them
};

/// Finds added tokens in a text: the leftmost first, of those that begin at one place the longest.
/// Takes time by the lengths of the text and of what is found, whatever the tokens: the text is
/// read from its end through a trie of the reversed tokens (Aho and Corasick 1975).
class AddedTokens {
 public:
  /// A stretch of the text between added tokens, or, with an id, an added token.
  struct Part {
    std::string_view text;
    int32_t id = -1;
  };

  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool is_special(int32_t id) const { return special_.contains(id); }

  /// In the order of the text; no part is empty.
  std::vector<Part> split(std::string_view text) const;

 private:
  struct Match {
    size_t at;
    int32_t token;
  };
  void link_nodes();
  uint32_t step(uint32_t node, uint8_t byte) const;
  std::vector<Match> matches(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;                        // of reversed texts
  std::array<uint32_t, 256> from_root_;  // by the next byte
  std::vector<uint32_t> shorter_;        // [nodes] the node of the longest proper end of its text
  std::vector<int32_t> longest_;         // [nodes] the longest token that its text ends with
  std::unordered_set<int32_t> special_;
};

/// `text` without the white space of Unicode at its start, or at its end.
std::string_view without_blanks_before(std::string_view text);
std::string_view without_blanks_behind(std::string_view text);

}  // namespace zero
