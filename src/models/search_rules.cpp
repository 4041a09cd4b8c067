#include <algorithm>

#include "zero/base/error.hpp"
#include "zero/models/score_rules.hpp"

namespace zero::models {
namespace {

using Ids = std::vector<int32_t>;

/// Ids of a key, which the model has all.
Ids ids_of(const char* key, const std::vector<int64_t>& ids, const model::DataForm& form) {
  for (const int64_t id : ids) {
    if (id < form.vocabulary) continue;
    refuse_settings({text("generation.", key)}, "id ", id,
                    " is beyond the model's vocabulary, which is of ", form.vocabulary,
                    "; write one below");
  }
  return Ids(ids.begin(), ids.end());
}

Ids ids_of(const char* key, const std::optional<std::vector<int64_t>>& ids,
           const model::DataForm& form) {
  return ids ? ids_of(key, *ids, form) : Ids();
}

/// A decoder reads all tokens of a text but the last one.
void require_positions(const GenerationConfig& generation, int64_t length,
                       const model::DataForm& form) {
  if (length - 1 <= form.positions) return;
  const bool whole = generation.max_length.has_value();
  refuse_settings(
      {whole ? "generation.max_length" : "generation.max_new_tokens", "data.sequence_length"},
      "texts of ", length, " tokens are longer than the model's ", form.positions,
      " positions; write ", form.positions + int64_t(whole), " or less");
}

DrawRules draws_of(const GenerationConfig& generation) {
  constexpr int64_t kLikeliest = 50;  // as Hugging Face's default
  return {.temperature = generation.temperature.value_or(1),
          .top_k = generation.top_k.value_or(kLikeliest),
          .top_p = generation.top_p.value_or(1)};
}

ScoreRules scores_of(const GenerationConfig& generation, const model::DataForm& form) {
  ScoreRules scores{
      .min_length = generation.min_new_tokens ? 0 : generation.min_length.value_or(0),
      .min_new_tokens = generation.min_new_tokens.value_or(0),
      .repetition_penalty = generation.repetition_penalty.value_or(1),
      .no_repeat_ngram_size = generation.no_repeat_ngram_size.value_or(0),
      .encoder_no_repeat_ngram_size = generation.encoder_no_repeat_ngram_size.value_or(0),
      .forced_eos_token_id = ids_of("forced_eos_token_id", generation.forced_eos_token_id, form),
      .suppress_tokens = ids_of("suppress_tokens", generation.suppress_tokens, form),
      .begin_suppress_tokens =
          ids_of("begin_suppress_tokens", generation.begin_suppress_tokens, form),
      .eos_token_id = ids_of("eos_token_id", generation.eos_token_id, form)};
  if (!generation.eos_token_id && form.end >= 0) scores.eos_token_id = {int32_t(form.end)};
  if (const auto& first = generation.forced_bos_token_id) {
    scores.forced_bos_token_id =
        ids_of("forced_bos_token_id", std::vector<int64_t>{*first}, form).front();
  }
  return scores;
}

}  // namespace

SearchRules search_rules(const GenerationConfig& generation, const model::Architecture& model,
                         int64_t new_tokens, uint64_t seed) {
  const model::DataForm form = model::data_form(model);
  SearchRules rules{.scores = scores_of(generation, form),
                    .choice = {.seed = seed},
                    .num_beams = generation.num_beams.value_or(1),
                    .length_penalty = generation.length_penalty.value_or(1),
                    .early_stopping = generation.early_stopping.value_or(BeamEnd::no)};
  if (generation.do_sample.value_or(false)) rules.choice.draws = draws_of(generation);
  if (generation.max_length) {
    rules.scores.max_length = *generation.max_length;
  } else {
    rules.max_new_tokens = generation.max_new_tokens.value_or(new_tokens);
  }
  const bool begins_with_one = form.start >= 0;  // a decoder's beginning is a prompt of any length
  if (begins_with_one) {
    require_positions(generation, std::max(rules.scores.max_length, rules.max_new_tokens + 1),
                      form);
  }
  return rules;
}

}  // namespace zero::models
