#pragma once
/// [generation] of an input file, and generation_config.json, which has the same keys.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/config/toml.hpp"

namespace zero {

/// When a search by beams ends, once as many texts have ended as there are beams: when no running
/// one promises more, at once, or when none can be better at any length.
enum class BeamEnd { no, yes, never };

/// [generation]: how texts are generated, by the names and with the meaning of Hugging Face's
/// GenerationConfig. A member without a value is "auto": what generation_config.json of
/// model.init_from says, else what stands here.
struct GenerationConfig {
  std::optional<int64_t> max_length = {};      ///< tokens, with the beginning; none: the next says
  std::optional<int64_t> max_new_tokens = {};  ///< after the beginning; none: data.target_length
  std::optional<int64_t> min_length = {};  ///< no end before so many, with the beginning; none: 0
  std::optional<int64_t> min_new_tokens = {};  ///< in place of min_length, after the beginning
  std::optional<bool> do_sample = {};          ///< draws; none: false, the likeliest
  std::optional<double> temperature = {};      ///< of what is drawn from; none: 1
  std::optional<int64_t> top_k = {};      ///< the likeliest, from which is drawn; 0: all; none: 50
  std::optional<double> top_p = {};       ///< likewise, by their share of probability; none: 1
  std::optional<int64_t> num_beams = {};  ///< texts that are followed at a time; none: 1
  std::optional<double> length_penalty = {};  ///< power of the length that divides a score; none: 1
  std::optional<BeamEnd> early_stopping = {};        ///< false, true or "never"; none: false
  std::optional<double> repetition_penalty = {};     ///< of tokens that were there; none: 1
  std::optional<int64_t> no_repeat_ngram_size = {};  ///< that comes twice; 0: any; none: 0
  std::optional<int64_t> encoder_no_repeat_ngram_size = {};      ///< of the source, or prompt
  std::optional<int64_t> forced_bos_token_id = {};               ///< after the start; none: no such
  std::optional<std::vector<int64_t>> forced_eos_token_id = {};  ///< last of max_length; none: any
  std::optional<std::vector<int64_t>> suppress_tokens = {};      ///< never; none: no such
  std::optional<std::vector<int64_t>> begin_suppress_tokens = {};  ///< not first; none: no such
  std::optional<std::vector<int64_t>> eos_token_id = {};  ///< ends a text; none: data.eos_id

  bool operator==(const GenerationConfig&) const = default;
};

/// Stores a key of [generation] as an input file would: "" or what is wrong with the value; none
/// where there is no such key.
std::optional<std::string> assign_generation(GenerationConfig& config, std::string_view name,
                                             const TomlValue& value);
/// The keys of [generation] that are not "auto", by their names and in their order.
std::vector<std::pair<std::string, TomlValue>> generation_values(const GenerationConfig& config);
/// What `under` says of keys that `config` leaves open; of two that exclude each other, such as
/// max_length and max_new_tokens, the one in `config` stays alone.
GenerationConfig completed(GenerationConfig config, const GenerationConfig& under);
/// [generation] in the text of an input file that a run has written.
GenerationConfig generation_in(std::string_view text);
/// Throws SettingsError for keys of `config` without effect or against each other once it is
/// completed by `under`.
void require_generation(const GenerationConfig& config, const GenerationConfig& under);

}  // namespace zero
