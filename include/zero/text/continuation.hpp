#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "zero/text/search_rules.hpp"

namespace zero::writing {

/// Returns the index that a uniform number in [0, 1) selects under softmax(scores).
int64_t draw(std::span<const float> scores, double uniform);

/// Returns the token that `choice` takes by the scores [vocabulary], as token `number` after the
/// prompt. Depends on seed, text, number and scores alone.
int32_t choose_token(std::span<const float> scores, const TokenChoice& choice, uint32_t number);

/// A model that continues tokens, such as a Decoder.
struct Language {
  /// Appends tokens to the context and returns the logits after it.
  std::function<std::span<const float>(std::span<const int32_t>)> feed;
  /// Empties the context.
  std::function<void()> clear;
  int64_t context = 0;     ///< capacity in tokens
  int64_t vocabulary = 0;  ///< tokens that may be chosen; at most the logits
  bool slides = true;      ///< see model::Family
};

/// Continues `prompt` by `count` tokens, or until one ends the text, and passes each to `visit`.
/// `rules` see the whole text. If the language slides, the model sees the last `context` tokens of
/// a longer prompt, and a full context is emptied and its newer half fed again. Otherwise the text
/// ends when the context is full, and a longer prompt throws Error(kUsage). REQUIRES: `prompt` is
/// not empty.
void continue_tokens(const Language& language, std::span<const int32_t> prompt, int64_t count,
                     const ScoreRules& rules, const TokenChoice& choice,
                     const std::function<void(int32_t)>& visit);

}  // namespace zero::writing
