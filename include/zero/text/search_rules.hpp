#pragma once
/// The rules for a text's next token: changes of the model's scores, and the choice by them. Names
/// and meanings are those of Hugging Face's GenerationConfig (transformers 5.23).

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zero/config/run_config.hpp"
#include "zero/io/text/tokenizer.hpp"
#include "zero/model/family.hpp"

namespace zero::writing {

/// The rules for any choice of tokens. Lengths count all tokens with the text's beginning: an
/// encoder-decoder's start token, a decoder's prompt.
struct ScoreRules {
  int64_t max_length = 0;      ///< 0: no limit
  int64_t min_length = 0;      ///< tokens of a text before its end is allowed
  int64_t min_new_tokens = 0;  ///< tokens after the beginning before the end is allowed
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;                 ///< 0: all may repeat
  int64_t encoder_no_repeat_ngram_size = 0;         ///< as above, of the source's n-grams
  std::optional<int32_t> forced_bos_token_id = {};  ///< follows a beginning of one token
  std::vector<int32_t> forced_eos_token_id = {};  ///< the last token of max_length is one of these
  std::vector<int32_t> suppress_tokens = {};
  std::vector<int32_t> begin_suppress_tokens = {};  ///< forbidden directly after the beginning
  std::vector<int32_t> eos_token_id = {};           ///< each ends a text
};

/// A text during its generation.
struct WrittenText {
  std::span<const int32_t> source = {};  ///< without an encoder: the beginning
  std::span<const int32_t> tokens;       ///< so far, with the beginning
  int64_t beginning = 1;                 ///< tokens that were given
};

/// Applies the rules to the scores [vocabulary] of the token that follows `text`: logits, or log
/// softmax for beams. Gives forbidden tokens minus infinity. Returns false if the rules leave none.
/// Throws Error(kNumerics) if no score that is left is a number.
bool try_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores);
/// Applies the rules to the scores as try_rules(). Throws Error(kUsage) if they leave no token.
void apply_rules(const ScoreRules& rules, const WrittenText& text, std::span<float> scores);

/// The parameters of drawing a token.
struct DrawRules {
  double temperature = 1;
  int64_t top_k = 0;  ///< draws among the k likeliest and equals of the last; 0: all
  double top_p = 1;   ///< draws among the likeliest that together have this probability
};

/// Changes scores by the rules to those whose softmax is drawn from.
void narrow(const DrawRules& rules, std::span<float> scores);

/// The choice of the next token from scores.
struct TokenChoice {
  std::optional<DrawRules> draws = {};  ///< none: the likeliest token, the first of equals
  uint64_t seed = 1;
  uint64_t text = 0;  ///< number of the text among the seed's draws
};

struct SearchRules {
  ScoreRules scores = {};
  TokenChoice choice = {};  ///< for a search without beams
  int64_t num_beams = 1;
  double length_penalty = 1;  ///< a text's log probability is divided by its new tokens to this
  /// With BeamEnd::no, a search ends when the best running text, at its length, is no better than
  /// the worst ended one.
  BeamEnd early_stopping = BeamEnd::no;
  /// Maximum tokens after a text's beginning, within scores.max_length. 0: only max_length limits
  /// them, or 20 if that is 0, too. For writers of texts for sources (text_generator.hpp).
  int64_t max_new_tokens = 0;
  /// Count of texts that end as they are because the rules leave no token. Null: such a text is
  /// refused. Threads share the counter. REQUIRES: it outlives the searches.
  std::atomic<int64_t>* stuck = nullptr;
};

/// Returns the search that a completed [generation] asks for in texts of `model`, drawn by `seed`.
/// Without a length there, texts have at most `new_tokens` after their beginning. Throws
/// SettingsError for ids beyond the vocabulary, and texts longer than the model's positions.
SearchRules search_rules(const GenerationConfig& generation, const model::Architecture& model,
                         int64_t new_tokens, uint64_t seed);

/// Adds to rules.suppress_tokens the ids of a model that `tokenizer` does not know, except those
/// that end a text. `form` is the model's.
void suppress_unknown(const Tokenizer& tokenizer, const model::DataForm& form, ScoreRules& rules);

/// Returns the softmax of scores in fp64.
std::vector<double> probabilities(std::span<const float> scores);

/// Replaces scores by their log softmax.
void to_log_softmax(std::span<float> scores);

}  // namespace zero::writing
