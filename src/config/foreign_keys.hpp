#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/config/fields.hpp"

namespace zero {

/// A group of DeepSpeed keys without a counterpart in an input file.
struct DeepSpeedKeys {
  std::string_view section;    ///< "" at the top level
  std::string_view names;      ///< key names with blanks between them; "*": users choose the names
  Standing standing;           ///< hint: nothing to set; refused: asks for an unsupported feature
  std::string_view why;        ///< the program's behaviour, or advice
  bool partly = false;         ///< true: the section also has keys with counterparts
  std::string_view only = "";  ///< the one supported value of a refused key, as in TOML
};

/// Returns all rows, in the order of the table in inputs/keys.md.
std::span<const DeepSpeedKeys> deepspeed_keys();

/// Returns the row of a key, "flops_profiler.enabled", or of a section, "flops_profiler"; nullptr
/// if none.
const DeepSpeedKeys* find_deepspeed_key(std::string_view key);

/// Returns `why` of a row for a message, which names an installed tool by its path.
std::string why_of(const DeepSpeedKeys& keys);

/// Returns the section of `key`, or `key` itself, if an input file accepts it as a hint and ignores
/// its keys: "comms_config". Otherwise "".
std::string_view hint_section(std::string_view key);

/// Returns advice on a key or section that only DeepSpeed has, with its counterpart here; "" for
/// any other name. `key` may have DeepSpeed's form, zero_optimization.zenflow.offload, or ours,
/// zero.zenflow.offload.
std::string deepspeed_advice(std::string_view key);

/// Returns the counterpart of a key or section of Transformers or Accelerate; "" if unknown.
std::string habit_advice(std::string_view key);

}  // namespace zero
