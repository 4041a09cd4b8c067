#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Lists the checkpoints of a run, of a folder, or one of them, and says which one a run goes on
/// from and why. Throws Error(kInput) where there is no such folder.
int ls(const CommandLine& line);

}  // namespace zero::commands
