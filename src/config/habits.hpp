#pragma once

#include <string>
#include <string_view>

namespace zero {

/// `key` with the name that its section has here: "zero.stage" for "zero_optimization.stage".
std::string key_here(std::string_view key);

/// What a key from DeepSpeed, Transformers or Accelerate that is none here is called here, or what
/// does its work: for `key` or a section that it lies in. "" if the key is nobody's habit.
std::string_view habit_advice(std::string_view key);

}  // namespace zero
