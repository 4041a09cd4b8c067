#pragma once
/// What may follow a text, apart from what the model says of it: rules on scores and how a text is
/// chosen by them, by the names and with the meaning of Hugging Face's GenerationConfig
/// (transformers 5.23).

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/model/family.hpp"

namespace zero::models {

/// Rules that hold however a token is chosen. Lengths count all tokens of the text, its beginning
/// included: of an encoder-decoder the start token, of a decoder the prompt.
struct ScoreRules {
  int64_t max_length = 0;      ///< 0: none
  int64_t min_length = 0;      ///< no end before so many
  int64_t min_new_tokens = 0;  ///< ... after the beginning
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;                 ///< 0: any may repeat
  int64_t encoder_no_repeat_ngram_size = 0;         ///< no n-gram of the source either
  std::optional<int32_t> forced_bos_token_id = {};  ///< after a beginning of one token
  std::vector<int32_t> forced_eos_token_id = {};    ///< one of them is the last of max_length
  std::vector<int32_t> suppress_tokens = {};
  std::vector<int32_t> begin_suppress_tokens = {};  ///< not directly after the beginning
  std::vector<int32_t> eos_token_id = {};           ///< each of them ends a text
};

/// A text as it is being continued.
struct WrittenText {
  std::span<const int32_t> source = {};  ///< of a model without an encoder: the beginning
  std::span<const int32_t> tokens;       ///< so far, with its beginning
  int64_t beginning = 1;                 ///< of them were given
};

/// Changes the scores of the tokens that may follow, [vocabulary]: logits, or their log softmax
/// where beams are scored. Forbidden ones get minus infinity. Returns whether the rules leave any.
/// Throws Error(kNumerics) where none is left that is a number.
bool try_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores);
/// The same; throws Error(kUsage) where the rules leave none.
void apply_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores);

/// How a token is drawn.
struct DrawRules {
  double temperature = 1;
  int64_t top_k = 0;  ///< among the k likeliest and those that equal the last of them; 0: all
  double top_p = 1;   ///< among the likeliest that together have this probability
};

/// Changes scores to those whose softmax is drawn from.
void narrow(const DrawRules& rules, std::span<float> scores);

/// How the next token is chosen from scores.
struct TokenChoice {
  std::optional<DrawRules> draws = {};  ///< none: the likeliest, of equals the first
  uint64_t seed = 1;
  uint64_t text = 0;  ///< number of the text among those that the seed draws
};

struct SearchRules {
  ScoreRules scores = {};
  TokenChoice choice = {};  ///< of a search without beams
  int64_t num_beams = 1;
  double length_penalty = 1;  ///< a text's log probability is divided by its new tokens to this
  /// With no, a search ends when the best running text, at its length, is no better than the worst
  /// ended one.
  BeamEnd early_stopping = BeamEnd::no;
  /// Tokens after a text's beginning, at most, where scores.max_length leaves room for them; 0:
  /// that alone says it, and 20 where it is 0, too. Only for those who write texts for sources
  /// (generator.hpp).
  int64_t max_new_tokens = 0;
  /// Counts the texts that end because the rules leave them no token, as they are then;
  /// null: such a text is refused. Searches of several threads count in it; outlives them.
  std::atomic<int64_t>* stuck = nullptr;
};

/// What a completed [generation] asks of texts of `model` that are to have at most `new_tokens`
/// after their beginning where it says no length; drawn by `seed`. Throws SettingsError for ids
/// beyond the vocabulary, and for texts longer than the model's positions.
SearchRules search_rules(const GenerationConfig& generation, const model::Architecture& model,
                         int64_t new_tokens, uint64_t seed);

/// Softmax in fp64.
std::vector<double> probabilities(std::span<const float> scores);

/// log softmax in place.
void to_log_softmax(std::span<float> scores);

}  // namespace zero::models
