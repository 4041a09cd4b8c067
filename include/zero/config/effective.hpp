#pragma once

#include <string>

#include "zero/config/read_config.hpp"

namespace zero {

/// The text of an input file with every key, each with its origin in a comment and, where the value
/// is "auto" and follows from other keys, with what it comes to. read_config() reads it as
/// the same RunConfig; run.steps that resolve_steps() found is written as what was asked for,
/// run.epochs.
std::string effective_toml(const ConfigInput& input);

}  // namespace zero
