#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Translates a DeepSpeed or Accelerate file: the input file goes to standard output, or to a new
/// file, and a line for each key to standard error. Writes no input file and throws Error(kUsage)
/// if a key is wrong or, unless they are to be left out, unsupported; Error(kIo) if it cannot
/// write.
int import_deepspeed(const CommandLine& line);

}  // namespace zero::commands
