#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/base/utf8.hpp"

namespace zero::models {

/// How the next token is chosen from logits.
struct Choice {
  double temperature = 0;  ///< 0: the likeliest, of equals the first
  int64_t top_k = 0;       ///< drawn among the k likeliest; 0 = among all
  uint64_t seed = 1;
};

/// The index that a uniform number in [0, 1) falls on under softmax(logits / temperature).
int64_t draw(std::span<const float> logits, double temperature, double uniform);

/// The token that comes `number` after the prompt: of seed, number and logits alone.
int32_t choose_token(std::span<const float> logits, const Choice& choice, uint32_t number);

/// A model that continues tokens, such as a Decoder.
struct Language {
  /// Appends to the context and returns the logits behind it.
  std::function<std::span<const float>(std::span<const int32_t>)> feed;
  /// Empties the context.
  std::function<void()> clear;
  int64_t context = 0;     ///< tokens that it holds
  int64_t vocabulary = 0;  ///< tokens that may be chosen; at most the logits
};

/// Continues `prompt`, which is not empty, by `count` tokens and gives each to `visit` when it is
/// chosen. The model sees the last `context` tokens of a longer prompt; whenever the context is
/// full, the older half of it is forgotten and the newer half fed again, at positions from 0 on.
void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const Choice& choice, const std::function<void(int32_t)>& visit);

/// Bytes that come piece by piece, as whole UTF-8 characters: what may still become one is held
/// back, what cannot is U+FFFD.
class CharacterStream {
 public:
  /// The characters that are complete now.
  std::string add(std::string_view bytes);
  /// What is left at the end of the text.
  std::string finish();

 private:
  Utf8Checker checker_;
  std::string held_;
};

}  // namespace zero::models
