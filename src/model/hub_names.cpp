#include "zero/model/hub_names.hpp"

#include <algorithm>
#include <map>

#include "zero/base/text.hpp"

namespace zero::model {
namespace {

/// Prefixes by DataParallel, torch.compile, PEFT and a member that holds the model.
constexpr std::string_view kWrappers[] = {"module.", "_orig_mod.", "base_model.model.", "model.",
                                          "transformer."};
constexpr int kMostWrappers = 3;  // maximum nesting

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

using Known = std::function<bool(std::string_view)>;

std::string wrapper_from(std::span<const std::string_view> names, const Known& known,
                         const std::string& front, int depth) {
  const auto is_wrapped = [&](std::string_view name) { return name.starts_with(front); };
  const auto is_known = [&](std::string_view name) { return known(name.substr(front.size())); };
  if (names.empty() || !std::ranges::all_of(names, is_wrapped)) return "";
  if (std::ranges::any_of(names, is_known)) return front;
  for (const std::string_view wrapper : kWrappers) {
    if (depth == kMostWrappers) break;
    const std::string found = wrapper_from(names, known, text(front, wrapper), depth + 1);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

std::string wrapper_of(std::span<const std::string_view> names, const Known& known) {
  return wrapper_from(names, known, "", 0);
}

bool is_unmet_key(std::string_view key) { return kUnmet.contains(key); }

bool asks_for_nothing(std::string_view key, const TomlValue& value) {
  const auto found = kUnmet.find(key);
  if (found == kUnmet.end()) return false;
  const auto* whole = std::get_if<int64_t>(&value);
  return found->second == value || (whole && found->second == TomlValue(double(*whole)));
}

}  // namespace zero::model
