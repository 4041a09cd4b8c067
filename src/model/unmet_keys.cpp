#include "zero/model/unmet_keys.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>

namespace zero::model {
namespace {

/// Keys of GenerationConfig (Transformers 4.57) that this program does not implement, with their
/// neutral values. "" stands for null alone.
const std::map<std::string, TomlValue, std::less<>> kUnmet = {
    {"assistant_confidence_threshold", 0.4},
    {"assistant_early_exit", ""},
    {"assistant_lookbehind", int64_t(10)},
    {"bad_words_ids", TomlArray()},
    {"cache_config", ""},
    {"cache_implementation", ""},
    {"compile_config", ""},
    {"constraints", TomlArray()},
    {"disable_compile", false},
    {"diversity_penalty", 0.0},
    {"dola_layers", TomlArray()},
    {"encoder_repetition_penalty", 1.0},
    {"epsilon_cutoff", 0.0},
    {"eta_cutoff", 0.0},
    {"exponential_decay_length_penalty", TomlArray()},
    {"force_words_ids", TomlArray()},
    {"forced_decoder_ids", TomlArray()},
    {"generation_kwargs", ""},
    {"guidance_scale", 1.0},
    {"is_assistant", false},
    {"low_memory", false},
    {"max_matching_ngram_size", ""},
    {"max_time", ""},
    {"min_p", 0.0},
    {"num_assistant_tokens", int64_t(20)},
    {"num_assistant_tokens_schedule", "constant"},
    {"num_beam_groups", int64_t(1)},
    {"num_return_sequences", int64_t(1)},
    {"output_logits", false},
    {"penalty_alpha", 0.0},
    {"prefill_chunk_size", ""},
    {"prompt_lookup_num_tokens", ""},
    {"remove_invalid_values", false},
    {"renormalize_logits", false},
    {"return_legacy_cache", false},
    {"sequence_bias", TomlArray()},
    {"stop_strings", TomlArray()},
    {"target_lookbehind", int64_t(10)},
    {"token_healing", false},
    {"top_h", ""},
    {"typical_p", 1.0},
    {"watermarking_config", ""}};

}  // namespace

bool is_unmet_key(std::string_view key) { return kUnmet.contains(key); }

bool asks_for_nothing(std::string_view key, const TomlValue& value) {
  const auto found = kUnmet.find(key);
  if (found == kUnmet.end()) return false;
  const auto* whole = std::get_if<int64_t>(&value);
  return found->second == value || (whole && found->second == TomlValue(double(*whole)));
}

}  // namespace zero::model
