#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Shows the tensors of a checkpoint or a model folder with their statistics; with a second one,
/// how they differ. Throws Error(kInput) for what cannot be read.
int inspect(const CommandLine& line);

}  // namespace zero::commands
