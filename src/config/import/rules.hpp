#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config/toml.hpp"

namespace zero {

/// A key of an input file, with its value.
struct Target {
  std::string key;
  TomlValue value;
};

/// Returns the value as the source writes it, a word without its quotes.
std::string plain_text(const TomlValue& value);

std::string in_lower_case(std::string word);

/// Removes and returns the first of `words`, which blanks separate; "" if none is left.
std::string_view next_word(std::string_view& words);

/// Returns the words of `names`, which blanks separate.
std::vector<std::string> words_of(std::string_view names);

/// True if `wanted` is one of the words.
bool has_word(std::string_view words, std::string_view wanted);

/// A rule for keys of a source, or flags of a launch line. Without `to` and `convert` it sets
/// nothing.
struct ImportRule {
  std::string_view in = "";  ///< prefix of each name: "deepspeed_config."
  std::string_view from;     ///< names with blanks between them; "name.*" is a whole section
  std::string_view to = "";  ///< key of an input file; * stands for the name
  /// The reason that nothing is set, or the advice for a refused value.
  std::string_view why = "";
  std::string_view only = "";  ///< the one accepted value, as in TOML, without `to`
  /// Values of source and input file: "true=cpu|false=none". Others are refused, or copied if the
  /// list ends with "|*".
  std::string_view values = "";
  /// Replaces `values`. Returns nothing if the value is refused, and a Target without a key if it
  /// sets nothing.
  std::optional<Target> (*convert)(const TomlValue& value, std::string_view to) = nullptr;
  bool names_size = false;  ///< true: only a value that names a model sets `to`
  /// True: a flag of many scripts that may mean `to`. The user must confirm it. The advice shows
  /// follow_rule()'s value, if any.
  bool asks = false;

  /// Returns the keys or flags, each with `in`.
  std::vector<std::string> keys() const;
  /// Returns `to` for `key`. REQUIRES: `key` is one of keys().
  std::string target(std::string_view key) const;
};

/// The ImportRule::only of a key that is refused with any value.
inline constexpr std::string_view kNoValue = "no value";

/// Returns the rules for DeepSpeed's keys that an input file lacks or renames.
std::span<const ImportRule> deepspeed_rules();

/// Returns the rules for keys that any release of `accelerate config` writes.
std::span<const ImportRule> accelerate_rules();

/// Returns the rules for keys of its section fsdp_config, prefixed by "fsdp_".
std::span<const ImportRule> fsdp_rules();

/// A group of flags of `accelerate launch` that set keys of its configuration.
struct AccelerateFlags {
  std::string_view key;    ///< the key, or a section prefix that ends with "."
  std::string_view names;  ///< flags without dashes, with blanks between them
};
std::span<const AccelerateFlags> accelerate_flags();

/// Returns the key of Accelerate's configuration that a flag of `accelerate launch` sets:
/// "deepspeed_config.zero_stage" for "--zero_stage"; "" for any other word.
std::string accelerate_key(std::string_view flag);

/// Returns the rules for flags of Transformers' TrainingArguments: "--learning_rate".
std::span<const ImportRule> training_rules();

/// Returns the rules for flags of Transformers' and Accelerate's example scripts.
std::span<const ImportRule> script_rules();

/// Returns the rules for flags of other scripts that may mean a key: "--lr". The user is asked.
std::span<const ImportRule> own_rules();

/// Returns the rules for flags of launchers: deepspeed, torchrun, and accelerate if its
/// configuration has no such key.
std::span<const ImportRule> launcher_rules();

/// Returns the rule for a flag in the four tables above; nullptr if none.
const ImportRule* find_flag(std::string_view flag);

/// True if the launcher's flag takes no value.
bool is_switch(std::string_view flag);

/// True if the flag is a boolean of TrainingArguments, in any of argparse's words.
bool takes_boolean(std::string_view flag);

/// Maps Accelerate's word for a type, fp16, bf16 or no, to the key that it switches. Nothing for
/// other words.
std::optional<Target> mixed_precision(const TomlValue& value, std::string_view to);

/// Returns the rule for `key`, by name or by section; nullptr if none.
const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key);

/// Applies a rule to a value: see ImportRule::convert.
std::optional<Target> follow_rule(const ImportRule& rule, std::string_view key,
                                  const TomlValue& value);

/// True if `key` is the section or lies below it.
bool lies_in(std::string_view key, std::string_view section);

/// Returns `key` with our name of its section: "zero.stage" for "zero_optimization.stage".
std::string key_here(std::string_view key);

/// Returns the key of an input file with the name and meaning of DeepSpeed's `key`: zero.stage for
/// zero_optimization.stage, optimizer.lr for optimizer.params.lr. "" if the section has no
/// counterpart. The input file may lack such a key.
std::string same_key(std::string_view key);

/// Inverts same_key(). Returns "" for a section that DeepSpeed lacks.
std::string deepspeed_key(std::string_view key);

}  // namespace zero
