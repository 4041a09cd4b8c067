#pragma once
/// Rules of a search as the golden files of tools/golden have them, by Hugging Face's names.

#include <nlohmann/json.hpp>
#include <vector>

#include "zero/text/search_rules.hpp"

namespace zero::testing_support {

inline BeamEnd early_stopping(const nlohmann::json& options) {
  const nlohmann::json value = options.value("early_stopping", nlohmann::json(false));
  if (value.is_string()) return BeamEnd::never;
  return value.get<bool>() ? BeamEnd::yes : BeamEnd::no;
}

/// Without ids that end a text, of texts that begin with one token.
inline writing::SearchRules search_rules(const nlohmann::json& options, int64_t max_length) {
  using Ids = std::vector<int32_t>;
  writing::SearchRules rules{.num_beams = options.value("num_beams", 1),
                             .length_penalty = options.value("length_penalty", 1.0),
                             .early_stopping = early_stopping(options)};
  rules.scores = {.max_length = options.value("max_new_tokens", max_length - 1) + 1,
                  .min_length = options.value("min_length", 0),
                  .min_new_tokens = options.value("min_new_tokens", 0),
                  .repetition_penalty = options.value("repetition_penalty", 1.0),
                  .no_repeat_ngram_size = options.value("no_repeat_ngram_size", 0),
                  .encoder_no_repeat_ngram_size = options.value("encoder_no_repeat_ngram_size", 0),
                  .suppress_tokens = options.value("suppress_tokens", Ids()),
                  .begin_suppress_tokens = options.value("begin_suppress_tokens", Ids())};
  if (options.contains("forced_bos_token_id"))
    rules.scores.forced_bos_token_id = options["forced_bos_token_id"].get<int32_t>();
  if (options.contains("forced_eos_token_id"))
    rules.scores.forced_eos_token_id = {options["forced_eos_token_id"].get<int32_t>()};
  if (options.value("do_sample", false)) rules.choice.draws = writing::DrawRules{};
  return rules;
}

}  // namespace zero::testing_support
