#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Makes a new folder of checkpoints with the weights of a model folder as step 0. Throws
/// Error(kInput) that lists the first five tensors that do not fit, Error(kIo) if the new folder is
/// there already.
int import_weights(const CommandLine& line);

}  // namespace zero::commands
