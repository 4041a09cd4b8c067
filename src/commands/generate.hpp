#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Continues a prompt with a trained model, in this process alone: the text streams to standard
/// output, one line about it goes to standard error. Throws Error(kUsage) for options that cannot
/// act together, Error(kInput) for a damaged model or one without a tokenizer.
int generate(const CommandLine& line);

}  // namespace zero::commands
