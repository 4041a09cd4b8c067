#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/text/byte_trie.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// A token that a text holds by its name.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool strips_left = false, strips_right = false;  ///< also takes the blanks on this side
  bool special = true;                             ///< skipped where a text skips special tokens
  bool single_word = false;                        ///< ordinary text beside a word character
  bool normalized = false;  ///< found in the text behind the normalizer of a tokenizer.json
};

/// A finder of added tokens in a text: the leftmost first, and the longest at one place. Its time
/// depends on the lengths of text and matches, not on the tokens. It reads the text from its end
/// through a trie of the reversed tokens (Aho and Corasick 1975).
class AddedTokens {
 public:
  /// A stretch of the text between added tokens; with an id, an added token.
  struct Part {
    std::string_view text;
    int32_t id = -1;
  };

  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool is_special(int32_t id) const { return special_.contains(id); }

  /// Returns the parts of the text in order; none is empty. A match that is no token, because of
  /// its neighbours or of `names`, is plain text to its end.
  std::vector<Part> split(std::string_view text, SpecialNames names = SpecialNames::kTokens) const;

 private:
  struct Match {
    size_t at;
    int32_t token;
  };
  void link_nodes();
  uint32_t step(uint32_t node, uint8_t byte) const;
  std::vector<Match> matches(std::string_view text) const;
  bool counts(std::string_view text, size_t at, const AddedToken& token, SpecialNames names) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;                        // reversed texts of the tokens
  std::array<uint32_t, 256> from_root_;  // [next byte] node
  std::vector<uint32_t> shorter_;        // [nodes] node of the longest proper end of its text
  std::vector<int32_t> longest_;         // [nodes] longest token that its text ends with
  std::unordered_set<int32_t> special_;
};

/// Returns `text` without the Unicode white space at its start, or at its end.
std::string_view without_blanks_before(std::string_view text);
std::string_view without_blanks_behind(std::string_view text);

}  // namespace zero
