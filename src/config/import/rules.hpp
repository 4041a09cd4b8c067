#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/toml.hpp"

namespace zero {

/// A key of an input file, and the value that it gets.
struct Target {
  std::string key;
  TomlValue value;
};

/// Returns the value as it stands there, a word without its quotes.
std::string plain_text(const TomlValue& value);

std::string in_lower_case(std::string word);

/// Takes the first word off `words`, which blanks part; "" if there is none.
std::string_view next_word(std::string_view& words);

/// The words of `names`, with blanks between them.
std::vector<std::string> words_of(std::string_view names);

/// True if `wanted` is one of the words.
bool has_word(std::string_view words, std::string_view wanted);

/// What becomes of some keys of a source, or of flags of a launch line. Without `to` and `convert`
/// nothing has to be set.
struct ImportRule {
  std::string_view in = "";  ///< what stands before each name: "deepspeed_config."
  std::string_view from;     ///< names with blanks between them; "name.*" is all below a section
  std::string_view to = "";  ///< key of an input file; its * is the name
  /// Why nothing has to be set, or what to do instead of a refused value.
  std::string_view why = "";
  std::string_view only = "";  ///< as in TOML, without `to`: every other value is refused
  /// Values there and here: "true=cpu|false=none". Others are refused, or with "|*" taken as they
  /// are.
  std::string_view values = "";
  /// Instead of `values`; nothing if the value is refused, a Target without a key if it sets
  /// nothing.
  std::optional<Target> (*convert)(const TomlValue& value, std::string_view to) = nullptr;
  bool names_size = false;  ///< `to` is set by what is the name of a model, and by nothing else
  /// A flag of many scripts, which may mean `to`: the user has to say so. The advice has the value
  /// that follow_rule() gives, or none.
  bool asks = false;

  /// The keys or flags, with `in`.
  std::vector<std::string> keys() const;
  /// `to` for `key`, which is one of them.
  std::string target(std::string_view key) const;
};

/// ImportRule::only of a key that asks for what is not done, whatever its value.
inline constexpr std::string_view kNoValue = "no value";

/// Keys of DeepSpeed that an input file does not have under the same name.
std::span<const ImportRule> deepspeed_rules();

/// Keys that `accelerate config` writes or wrote.
std::span<const ImportRule> accelerate_rules();

/// Keys of its section fsdp_config, with "fsdp_" before their names.
std::span<const ImportRule> fsdp_rules();

/// Flags of `accelerate launch` that set keys of its configuration.
struct AccelerateFlags {
  std::string_view key;  ///< what they set, or the section before their names, which ends with "."
  std::string_view names;  ///< without dashes, with blanks between them
};
std::span<const AccelerateFlags> accelerate_flags();

/// The key of Accelerate's configuration that `flag` of `accelerate launch` sets: "--zero_stage",
/// "deepspeed_config.zero_stage"; "" for any other word.
std::string accelerate_key(std::string_view flag);

/// Flags of Transformers' TrainingArguments: "--learning_rate".
std::span<const ImportRule> training_rules();

/// Flags of Transformers' and Accelerate's example scripts.
std::span<const ImportRule> script_rules();

/// Flags of many other scripts, which may mean a key: "--lr". The user is asked.
std::span<const ImportRule> own_rules();

/// Flags of programs that place ranks: deepspeed, torchrun, and accelerate where its configuration
/// has no such key.
std::span<const ImportRule> launcher_rules();

/// The rule for a flag in any of the four tables above; nullptr if there is none.
const ImportRule* find_flag(std::string_view flag);

/// True if a launcher's flag takes no value.
bool is_switch(std::string_view flag);

/// True if TrainingArguments takes a boolean for the flag, in any of argparse's words for it.
bool takes_boolean(std::string_view flag);

/// Turns Accelerate's word for a type, fp16, bf16 or no, into the key that it switches; nothing for
/// another word.
std::optional<Target> mixed_precision(const TomlValue& value, std::string_view to);

/// The rule for `key`, by name or by section; nullptr if there is none.
const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key);

/// What the rule makes of a value: see ImportRule::convert.
std::optional<Target> follow_rule(const ImportRule& rule, std::string_view key,
                                  const TomlValue& value);

/// Whether `key` is the section or stands below it.
bool lies_in(std::string_view key, std::string_view section);

/// `key` with the name that its section has here: "zero.stage" for "zero_optimization.stage".
std::string key_here(std::string_view key);

/// The key of an input file that has DeepSpeed's name and meaning: zero_optimization.stage is
/// zero.stage and optimizer.params.lr is optimizer.lr. "" where sections do not correspond. The
/// input file need not have such a key.
std::string same_key(std::string_view key);

/// The way back; "" for a section that DeepSpeed has not.
std::string deepspeed_key(std::string_view key);

}  // namespace zero
