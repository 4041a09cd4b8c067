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

/// What becomes of one key of a source, or of one flag of a launch line. Without `to` and `convert`
/// nothing has to be set.
struct ImportRule {
  std::string_view from;     ///< a key, or "section.*"
  std::string_view to = "";  ///< key of an input file
  std::string_view why =
      "";  ///< why nothing has to be set, or what to do instead of a refused value
  std::string_view only = "";  ///< as in TOML, without `to`: every other value is refused
  /// Instead of `to`; nothing if the value is refused, a Target without a key if it sets nothing.
  std::optional<Target> (*convert)(const TomlValue& value) = nullptr;
  bool names_size = false;  ///< `to` is set by what is the name of a model, and by nothing else
};

/// ImportRule::only of a key that asks for what is not done, whatever its value.
inline constexpr std::string_view kNoValue = "no value";

/// Keys of DeepSpeed that an input file does not have under the same name.
std::span<const ImportRule> deepspeed_rules();

/// Keys that `accelerate config` writes.
std::span<const ImportRule> accelerate_rules();

/// Keys of its section fsdp_config, with "fsdp_" before their names.
std::span<const ImportRule> fsdp_rules();

/// Flags of Transformers' TrainingArguments and of its example scripts: "--learning_rate".
std::span<const ImportRule> launch_rules();

/// The rule for `key`, by name or by section; nullptr if there is none.
const ImportRule* find_rule(std::span<const ImportRule> rules, std::string_view key);

/// The key of an input file that has DeepSpeed's name and meaning: zero_optimization.stage is
/// zero.stage and optimizer.params.lr is optimizer.lr. "" where sections do not correspond. The
/// input file need not have such a key.
std::string same_key(std::string_view key);

/// The way back; "" for a section that DeepSpeed has not.
std::string deepspeed_key(std::string_view key);

}  // namespace zero
