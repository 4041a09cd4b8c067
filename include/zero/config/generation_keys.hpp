#pragma once
/// The section [generation] of an input file. generation_config.json has the same keys.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/config/toml.hpp"

namespace zero {

/// The rule that ends a beam search once it has as many ended texts as beams. no: end if no running
/// beam promises a better score. yes: end at once. never: end if no running beam can win at any
/// length.
enum class BeamEnd { no, yes, never };

/// The section [generation], with the names and meaning of Hugging Face's GenerationConfig. A
/// member without a value is "auto": generation_config.json of model.init_from decides, otherwise
/// the default named here.
struct GenerationConfig {
  std::optional<int64_t> max_length = {};      ///< tokens with prompt; none: see max_new_tokens
  std::optional<int64_t> max_new_tokens = {};  ///< tokens after prompt; none: data.target_length
  std::optional<int64_t> min_length = {};      ///< tokens before an end, with prompt; none: 0
  std::optional<int64_t> min_new_tokens = {};  ///< tokens after the prompt, instead of min_length
  std::optional<bool> do_sample = {};      ///< true: draw tokens; false or none: take the likeliest
  std::optional<double> temperature = {};  ///< divides the scores before a draw; none: 1
  std::optional<int64_t> top_k = {};       ///< draw from the k likeliest tokens; 0: all; none: 50
  /// Draw from the likeliest tokens of this total probability; none: 1.
  std::optional<double> top_p = {};
  std::optional<int64_t> num_beams = {};      ///< beams followed at the same time; none: 1
  std::optional<double> length_penalty = {};  ///< power of the length that divides a score; none: 1
  std::optional<BeamEnd> early_stopping = {};     ///< false, true or "never"; none: false
  std::optional<double> repetition_penalty = {};  ///< divides scores of repeated tokens; none: 1
  /// Tokens in a row that may not repeat; 0: no limit; none: 0.
  std::optional<int64_t> no_repeat_ngram_size = {};
  /// Tokens in a row that may not repeat the source or prompt; 0: no limit; none: 0.
  std::optional<int64_t> encoder_no_repeat_ngram_size = {};
  std::optional<int64_t> forced_bos_token_id = {};  ///< first token after the start; none: free
  std::optional<std::vector<int64_t>> forced_eos_token_id = {};  ///< last at max_length; none: free
  std::optional<std::vector<int64_t>> suppress_tokens = {};      ///< never generated; none: empty
  std::optional<std::vector<int64_t>> begin_suppress_tokens = {};  ///< never first; none: empty
  std::optional<std::vector<int64_t>> eos_token_id = {};  ///< end a text; none: data.eos_id

  bool operator==(const GenerationConfig&) const = default;
};

/// Stores `value` in `config` under the key `name` of [generation], as an input file would. Returns
/// "" on success, the error text for a wrong value, and nothing if the key does not exist.
std::optional<std::string> assign_generation(GenerationConfig& config, std::string_view name,
                                             const TomlValue& value);
/// Returns the names and values of all keys of `config` that are not "auto", in the order of the
/// section.
std::vector<std::pair<std::string, TomlValue>> generation_values(const GenerationConfig& config);
/// Returns `config` with its "auto" keys filled from `under`. `under` does not fill a key that
/// excludes a key of `config`, such as max_length beside max_new_tokens.
GenerationConfig completed(GenerationConfig config, const GenerationConfig& under);
/// Parses `text`, an input file that a run wrote, and returns its section [generation].
GenerationConfig generation_in(std::string_view text);
/// Throws SettingsError if keys of `config`, completed by `under`, have no effect or contradict
/// each other.
void require_generation(const GenerationConfig& config, const GenerationConfig& under);

}  // namespace zero
