#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace zero {

/// A token that a text holds by its name.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool strips_left = false, strips_right = false;  ///< takes the blanks on this side with it
  bool special = true;                             ///< left out of a text that skips them
};

/// Finds added tokens in a text: the leftmost first, of those that begin at one place the longest.
class AddedTokens {
 public:
  /// A stretch of the text between added tokens, or, with an id, an added token.
  struct Part {
    std::string_view text;
    int32_t id = -1;
  };

  explicit AddedTokens(std::vector<AddedToken> tokens = {});
  AddedTokens(AddedTokens&&) = default;  // the table points into `tokens_`, which moves whole
  AddedTokens& operator=(AddedTokens&&) = default;

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool is_special(int32_t id) const { return special_.contains(id); }

  /// In the order of the text; no part is empty.
  std::vector<Part> split(std::string_view text) const;

 private:
  const AddedToken* token_at(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;                        // the longest first
  std::array<std::vector<const AddedToken*>, 256> with_;  // by their first byte
  std::unordered_set<int32_t> special_;
};

/// `text` without the white space of Unicode at its start, or at its end.
std::string_view without_blanks_before(std::string_view text);
std::string_view without_blanks_behind(std::string_view text);

}  // namespace zero
