#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/config/fields.hpp"

namespace zero {

/// Keys of DeepSpeed's configuration that no key of an input file corresponds to.
struct DeepSpeedKeys {
  std::string_view section;  ///< "" at the top
  std::string_view names;    ///< of its keys, with blanks between them; "*": users choose the names
  Standing standing;         ///< hint: nothing has to be set; refused: it asks for what is not done
  std::string_view why;      ///< what is done instead, or what to do
  bool partly = false;       ///< other keys of the section have twins here, so these are all
  std::string_view only = "";  ///< a value of a refused key that asks for what is done, as in TOML
};

/// In the order of the table in inputs/keys.md.
std::span<const DeepSpeedKeys> deepspeed_keys();

/// What stands about `key`, "flops_profiler.enabled", or about a section, "flops_profiler"; nullptr
/// for any other key.
const DeepSpeedKeys* find_deepspeed_key(std::string_view key);

/// The section of `key`, or `key`, if an input file takes it as a hint and reads nothing of it:
/// "comms_config"; else "".
std::string_view hint_section(std::string_view key);

/// Says of a key or section that DeepSpeed has and an input file has not that it is DeepSpeed's,
/// and what does its work here; "" for any other name. `key` may have DeepSpeed's name or the one
/// that its section gives it here, zero_optimization.zenflow.offload or zero.zenflow.offload.
std::string deepspeed_advice(std::string_view key);

/// What a key from Transformers or Accelerate that is none here is called here, or what does its
/// work: for `key` or a section that it lies in. "" if the key is nobody's habit.
std::string habit_advice(std::string_view key);

}  // namespace zero
